"""The recorded measurement of attention costs, and a button that measures the costs on this machine."""

import os
from collections.abc import Iterator

import streamlit as st

from pages.ui.long_texts.names import NAMES
from pages.ui.measurements.recordings import read_record
from pages.ui.runs.inference import LONG_RUNS
from transformer.checkpoints.memory import memory_available
from transformer.files.paths import ASSETS
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, Cost, RecordedCosts
from transformer.language_modelling.cost_measurement import MODEL, measurements
from transformer.model.devices import use_one_thread

FILE = ASSETS / "attention_costs.json"
# Session-state key for the user's own measurement.
MEASURED = "_measured_costs"
# Session-state key for whether the user has requested a measurement.
REQUESTED = "_asked_costs"
# Number of timed passes at each length. With more passes, other users would wait longer.
REPEATS = 2


def costs() -> RecordedCosts | None:
    """Return the user's own measurement, or else the recorded one; None if the recorded one is missing or damaged."""
    return st.session_state.get(MEASURED) or read_record(FILE, RecordedCosts.from_json)


def measure_button() -> None:
    """Show a button that measures the costs. After a click, the next script run measures the costs and then reruns the
    page.
    """
    st.button(
        "Measure on this machine",
        key="long_measure",
        icon=":material/timer:",
        on_click=_ask,
        help="This takes a few seconds. Texts that are too long for this machine's memory are skipped.",
    )
    if st.session_state.pop(REQUESTED, False):
        _measure()
        st.rerun()


def _ask() -> None:
    """Callback: request a measurement from the next script run."""
    st.session_state[REQUESTED] = True


def _measure() -> None:
    """Measure the costs and show a progress bar.

    A click anywhere stops the measurement, because the next update of the bar then raises an exception.
    """
    bar = st.progress(0.0, "Waiting for a turn …")
    use_one_thread()
    measured_costs: list[Cost] = []
    for cost in measure_in_turns(measurements(repeats=REPEATS, available=memory_available())):
        measured_costs.append(cost)
        bar.progress(
            len(measured_costs) / len(LENGTHS) / len(ATTENTIONS), f"{NAMES[cost.attention]}: {cost.length:,} tokens"
        )
    if measured_costs:
        cores = f"one of the {os.cpu_count()} CPU cores of this machine, just now"
        st.session_state[MEASURED] = RecordedCosts(
            tuple(measured_costs), MODEL, cores, "python benchmarks/long_texts.py"
        )


def measure_in_turns(costs: Iterator[Cost]) -> Iterator[Cost]:
    """Yield measured costs one at a time. Release `LONG_RUNS` after each, so that other long runs can start."""
    while True:
        with LONG_RUNS:
            cost = next(costs, None)
        if cost is None:
            return
        yield cost
