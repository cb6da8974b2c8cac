"""Live training: a Streamlit fragment that reruns periodically and trains for a short time slice each time."""

from functools import cache

import streamlit as st

from pages.ui.params.training_lab import NEWEST, LabParams
from pages.ui.runs.inference import MODEL_LOCK
from pages.ui.state import session
from pages.ui.text.server_paths import error_text
from pages.ui.training_lab.recorded_runs import recorded_run
from pages.ui.training_lab.run_view import show_run
from pages.ui.training_lab.trainings import MAX_ACTIVE, MAX_TRAININGS, BrowserTab, Training, Trainings
from transformer.errors import TaskError
from transformer.serving.server_process import tune_process
from transformer.tasks.run import TaskRun

# The model is trained in time slices, during which no sentence is translated. Length of a slice, and interval between
# the starts of two successive slices, in seconds.
SLICE_SECONDS = 0.15
SLICE_INTERVAL = 0.2
TAB = "_tab"
# Session-state keys. NUMBER counts the user's training runs, so it identifies the latest one. TRAINING_STARTED exists
# from the creation of a training run until the user leaves it or the page reports that the server dropped it.
NUMBER = "_training_number"
TRAINING_STARTED = "_training_begun"
# Session-state key of the error that stopped the training run, if any.
STOP_ERROR = "_training_stopped"

TRAININGS = Trainings()
# Tunes memory and threads once per process. Loading the translation model does so too, but training may start earlier.
prepare = cache(tune_process)


def own_training() -> Training | None:
    """Return the user's own training run; None if there is none for the chosen task."""
    training = TRAININGS.of(_tab())
    return training if training and training.trainer.config.task == session.params(LabParams).task else None


def recorded_training() -> TaskRun | None:
    """Return the chosen task's recorded training run; None if there is none. Warn and return None if it is invalid."""
    try:
        return recorded_run(session.params(LabParams).task)
    except TaskError as error:
        st.warning(f"The recorded training cannot be shown: {error_text(error)}. Train a model here instead.")
        return None


def _tab() -> BrowserTab:
    return st.session_state.setdefault(TAB, BrowserTab())


def begin() -> Training:
    """Create a new training run with the current settings, without starting it."""
    prepare()
    st.session_state[NUMBER] = st.session_state.get(NUMBER, 0) + 1
    st.session_state[TRAINING_STARTED] = True
    st.session_state.pop(STOP_ERROR, None)
    session.update(LabParams, moment=NEWEST)
    return TRAININGS.begin(_tab(), session.params(LabParams).config)


def reset() -> None:
    """Callback: replace the training run with a new one at step 0."""
    begin()


def leave() -> None:
    """Callback: drop the user's own training run, and return to the recorded one."""
    for key in (TRAINING_STARTED, STOP_ERROR):
        st.session_state.pop(key, None)
    session.store(session.params(LabParams).from_the_beginning())
    TRAININGS.leave(_tab())


def start() -> None:
    TRAININGS.start(_current_training())


def pause() -> None:
    training = own_training()
    if training:
        training.running = False


def take_one_step() -> None:
    training = _current_training()
    training.running = False
    _advance(training, steps=1)


def _current_training() -> Training:
    """Return the user's training run if it has the current settings and can continue; otherwise a new one."""
    training = own_training()
    config = session.params(LabParams).config
    goes_on = training and training.trainer.config == config and not training.trainer.finished
    return training if training and goes_on and STOP_ERROR not in st.session_state else begin()


def _advance(training: Training, *, steps: int | None = None) -> None:
    """Train for one time slice or `steps` steps, whichever is shorter, holding the lock that translations need."""
    try:
        with MODEL_LOCK:
            training.trainer.advance(steps=steps, seconds=SLICE_SECONDS)
    except TaskError as error:
        training.running = False
        st.session_state[STOP_ERROR] = str(error).partition(":")[0]
    if training.trainer.finished:
        training.running = False


def show_controls(training: Training | None, *, with_recorded: bool) -> None:
    """Show buttons that start, pause, step and reset training; for a recorded run, show only a start button.

    Args:
        training: the live training run on the page; None if the page shows a recorded one.
        with_recorded: whether the task has a recorded training run to return to.
    """
    if training is None:
        st.button(
            "Train live",
            key="lab_start",
            icon=":material/play_arrow:",
            type="primary",
            on_click=start,
            help="Trains a new Transformer with these settings. The recording stays one click away.",
        )
        return
    same = training.trainer.config == session.params(LabParams).config
    step = training.trainer.step
    if training.running:
        st.button("Pause", key="lab_pause", icon=":material/pause:", type="primary", on_click=pause)
    else:
        goes_on = same and step and not training.trainer.finished
        st.button(
            "Continue" if goes_on else "Train",
            key="lab_start",
            icon=":material/play_arrow:",
            type="primary",
            help="Trains a Transformer with these settings.",
            on_click=start,
        )
    st.button("One step", key="lab_step", icon=":material/skip_next:", on_click=take_one_step)
    st.button(
        "Reset",
        key="lab_reset",
        icon=":material/restart_alt:",
        disabled=same and not step,
        on_click=reset,
        help="Back to the initial weights, before the first step.",
    )
    if with_recorded:
        st.button(
            "Recorded",
            key="lab_recorded",
            icon=":material/movie:",
            on_click=leave,
            help="Back to the recorded training of this task.",
        )


def show_training(training: Training) -> None:
    """Show a training run; while it is running, train for a time slice at regular intervals."""
    if training.trainer.config != session.params(LabParams).config:
        st.caption("The new settings apply to the next training run.")
    st.fragment(_train_slice, run_every=SLICE_INTERVAL if training.running else None)()


def _train_slice() -> None:
    training = own_training()
    if training is None:
        st.rerun()
    was_running = training.running
    waiting = was_running and not TRAININGS.is_active(training)
    if was_running and not waiting:
        _advance(training)
    run = training.trainer.run()
    show_run(run, f"own {st.session_state.get(NUMBER, 0)}", running=training.running, speed=describe_speed(run))
    if waiting:
        st.info(
            f"{MAX_ACTIVE} training runs are active on this server. Yours continues when one of them ends or is paused."
        )
    if STOP_ERROR in st.session_state:
        st.warning(
            f"{st.session_state[STOP_ERROR].capitalize()}: choose a lower learning rate in the settings, and train "
            "again. Until then, the page shows the results of the earlier steps."
        )
    if was_running and not training.running:
        # Only a rerun of the whole page stops the fragment's periodic reruns.
        st.rerun()


def describe_speed(run: TaskRun) -> str:
    """Return a sentence that states the training speed; empty before the first step."""
    return (
        f"This server trains at {run.step / run.seconds:.0f} steps per second, counting the time for snapshots."
        if run.step
        else ""
    )


def show_made_room() -> None:
    """Show a message if the user's training run was dropped to make room for other users' runs."""
    if st.session_state.get(TRAINING_STARTED) and TRAININGS.of(_tab()) is None:
        st.session_state.pop(TRAINING_STARTED)
        st.info(
            f"Your training run was dropped, because this server keeps at most {MAX_TRAININGS} runs. Train again with "
            "the same settings to get the same result."
        )
