"""Form for training settings, with limits that keep training short."""

from dataclasses import replace

import streamlit as st

from pages.ui.params.training_lab import HEADS, WIDTHS, LabParams
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number
from pages.ui.text.glossary import explain
from transformer.tasks.config import OPTIMIZERS, TaskConfig
from transformer.tasks.registry import TASKS, task_named
from transformer.tasks.run import TaskRun

OPTIMIZER_NAMES = {
    "muon": "Muon, as for the translation model",
    "adam": "Adam, from PyTorch",
    "adam-by-hand": "Adam, hand-written",
}
# Maps numeric settings on the page to fields of `TaskConfig`.
NUMBERS = {
    "rate": "learning_rate",
    "decay": "weight_decay",
    **{name: name for name in ("layers", "items", "steps", "warmup", "seed")},
}


def pick_task() -> None:
    """Show a select box for the task; choosing another task resets the training step, score, heads and item."""
    before = session.params(LabParams).task

    def changed() -> None:
        binding["on_change"]()
        params = session.params(LabParams)
        if params.task != before:
            session.store(params.from_the_beginning())

    binding = bind(LabParams, "task")
    st.selectbox(
        "Task",
        tuple(TASKS),
        format_func=lambda name: f"Task: {TASKS[name].title}",
        label_visibility="collapsed",
        width=220,
        **{**binding, "on_change": changed},
    )


def settings_of(config: TaskConfig, params: LabParams) -> LabParams | None:
    """Return the page settings that correspond to a configuration; None if the page's form does not allow them."""
    numbers = {name: getattr(config, field) for name, field in NUMBERS.items()}
    settings = replace(
        params, optimizer=config.optimizer, heads=str(config.heads), width=str(config.d_model), **numbers
    )
    limits = [(value, *LabParams.limits(name)) for name, value in numbers.items()]
    offered = settings.width in WIDTHS and settings.heads in HEADS
    if not offered or not all(least <= value <= most for value, least, most in limits):
        return None
    return settings if settings.config == config else None


def show_recorded_settings(config: TaskConfig) -> None:
    """Describe the recorded run's settings if they differ from the page's; offer them if the form allows them."""
    params = session.params(LabParams)
    if config == params.config:
        return
    settings = settings_of(config, params)
    description = (
        f"The recorded training uses {config.heads} heads, {config.items:,} items per step, {config.steps:,} steps, "
        f"and a learning rate of {config.learning_rate:g} after {config.warmup} steps of warm-up"
    )
    if settings is None:
        st.caption(f"{description}. Training with these settings would take too long here.")
    else:
        st.caption(f"{description}.")
        st.button("Use these settings", key="lab_as_recorded", on_click=session.store, args=(settings,))


def show_settings_form(recorded: TaskRun | None) -> None:
    """Show the form for all settings except the task.

    Args:
        recorded: the task's recorded training run; None if there is none.
    """
    params = session.params(LabParams)
    task = task_named(params.task)
    example = f"{task.example} → {task.write(task.parse(task.example).target)}"
    st.markdown(f"**{task.title}.** {task.description} For example: {example}.")
    if recorded:
        show_recorded_settings(recorded.config)
    first, second = st.columns(2)
    with first:
        st.markdown("**The Transformer**", help=explain("layer", "head", "residual stream"))
        st.number_input("Layers in encoder and decoder", step=1, **bind_number(LabParams, "layers"))
        st.segmented_control("Heads per layer", HEADS, required=True, **bind(LabParams, "heads"))
        st.segmented_control("Width", WIDTHS, required=True, **bind(LabParams, "width"))
        st.number_input("Seed", step=1, **bind_number(LabParams, "seed"))
    with second:
        st.markdown("**Its training**", help=explain("optimizer", "learning rate", "batch", "weight decay"))
        st.selectbox("Optimiser", OPTIMIZERS, format_func=OPTIMIZER_NAMES.__getitem__, **bind(LabParams, "optimizer"))
        st.number_input("Peak learning rate", step=0.001, format="%.4f", **bind_number(LabParams, "rate"))
        st.number_input("Warm-up steps", step=10, help=explain("warm-up"), **bind_number(LabParams, "warmup"))
        st.number_input("Items per step (batch)", step=8, **bind_number(LabParams, "items"))
        st.number_input("Steps", step=100, **bind_number(LabParams, "steps"))
        st.number_input(
            "Weight decay",
            step=0.01,
            format="%g",
            disabled=params.optimizer == "adam-by-hand",
            help="The hand-written optimiser has no weight decay." if params.optimizer == "adam-by-hand" else None,
            **bind_number(LabParams, "decay"),
        )
