"""Shows a live or recorded training run: the animation, explanations, and a box for the user's own item."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.charts.tables import show_numbers
from pages.ui.layout.roles import main_figure
from pages.ui.params.training_lab import NEWEST, LabParams
from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.training_lab.film import shown_heads, shown_item, training_film
from pages.ui.training_lab.own_item import show_own_item
from transformer.tasks.events import KIND_NAMES, Event, events
from transformer.tasks.registry import task_named
from transformer.tasks.run import TaskRun
from transformer.tasks.scores import SCORES
from transformer.tasks.spectrum import largest
from transformer.values.kinds import KINDS


def show_run(run: TaskRun, name: str, *, running: bool = False, speed: str = "") -> None:
    """Show a training run's animation, explanations and numbers, and the box for the user's own item.

    Args:
        run: the training run so far.
        name: a name that distinguishes the training run from the user's other training runs.
        running: whether the training continues.
        speed: a sentence about the training speed; empty for a recorded run.
    """
    # In a fragment rerun, nothing else writes the user's choices to the URL.
    session.rewrite_address()
    run_events = events(run)
    task = task_named(run.config.task)
    with main_figure(
        f"**{task.title}**: {shown_item(run)}", describe_latest_event(run, run_events, session.params(LabParams).moment)
    ):
        training_film(run, run_events, name, running=running)
    st.caption(
        f"{task.description} The maps show the attention weights for the held-out item {shown_item(run)} while the "
        f"decoder reads the right answer. The Transformer has {run.config.parameters:,} parameters. {speed} To see "
        "another training step, drag across the curves or click an event.",
        help=explain("loss", "held-out items", "exact match", "attention weight", "teacher forcing"),
    )
    if task.modulus:
        st.caption(describe_spectrum(run), help=explain("grokking", "Fourier spectrum", "embedding", "weight decay"))
    show_own_item(run, name, shown_heads(run, run_events, session.params(LabParams)))
    if not running:
        show_numbers(moments(run), "lab_numbers", label="The numbers for every snapshot", digits=4)
        with st.expander("What the scores mean"):
            st.markdown("\n".join(f"- **{score.replace('_', ' ')}**: {meaning}." for score, meaning in SCORES.items()))


def describe_spectrum(run: TaskRun) -> str:
    """Return text that explains a modular task's Fourier spectrum, and compares the first and last snapshots."""
    first, last = run.snapshots[0], run.snapshots[-1]
    assert first.spectrum is not None and last.spectrum is not None
    (_, before), (frequencies, after) = largest(first.spectrum), largest(last.spectrum)
    return (
        f"The bars are the Fourier spectrum of the numbers’ embeddings: each of the {run.config.d_model} columns "
        "of the embedding table is a sum of waves over the numbers. In random embeddings, all frequencies are about "
        f"equally strong: at step 0, the five strongest account for {before:.0%} of the squared norm. At step "
        f"{last.step:,}, the five strongest are {', '.join(map(str, frequencies[:-1]))} and {frequencies[-1]}, and "
        f"account for {after:.0%}."
    )


def describe_latest_event(run: TaskRun, run_events: Sequence[Event], moment: int) -> str:
    """Return one line with the training step and the latest event up to this step.

    Args:
        moment: the training step; NEWEST for the last snapshot.
    """
    step = run.snapshots[-1 if moment == NEWEST else run.index_at(moment)].step
    happened = [event.text for event in run_events if event.step <= step]
    return " · ".join([f"Step {step:,} of {run.config.steps:,}", *happened[-1:]])


def moments(run: TaskRun) -> pd.DataFrame:
    """Return a table with one row per snapshot: training step, held-out loss, exact match, head scores and spectrum."""
    columns: dict[str, list[float]] = {
        "step": [snapshot.step for snapshot in run.snapshots],
        "loss, held out": [snapshot.held_out_loss for snapshot in run.snapshots],
        "exact match": [snapshot.exact_match for snapshot in run.snapshots],
        "exact match, training items": [snapshot.training_match for snapshot in run.snapshots],
    }
    for score in SCORES:
        for kind in KINDS:
            for place in range(run.config.layers * run.config.heads):
                columns[f"{score.replace('_', ' ')}, {KIND_NAMES[kind]} {place + 1}"] = [
                    float(snapshot.scores[score][kind].flat[place]) for snapshot in run.snapshots
                ]
    spectra = [snapshot.spectrum for snapshot in run.snapshots if snapshot.spectrum is not None]
    if spectra:
        columns |= {
            f"norm of frequency {number}": norms.tolist() for number, norms in enumerate(np.stack(spectra).T, start=1)
        }
    return pd.DataFrame(columns).dropna(axis="columns", how="all")
