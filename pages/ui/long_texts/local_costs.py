"""The recorded cost measurement, and a button that repeats the measurement on this machine."""

from __future__ import annotations

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
# Session-state key of the user's own measurement.
MEASURED = "_measured_costs"
# Session-state key that is set when the user has requested a measurement.
REQUESTED = "_asked_costs"
# Timed passes at each length. More passes would make other users wait.
REPEATS = 2


def costs() -> RecordedCosts | None:
    """Return the user's own measurement or, without one, the recorded one; None if its file is missing or damaged."""
    return st.session_state.get(MEASURED) or read_record(FILE, RecordedCosts.from_json)


def measure_button() -> None:
    """Show the measurement button; after a click on it, measure while the page waits, then rerun the page."""
    st.button(
        "Measure on this machine",
        key="long_measure",
        icon=":material/timer:",
        on_click=_ask,
        help="Takes a few seconds. Lengths that do not fit into this machine's memory are skipped.",
    )
    if st.session_state.pop(REQUESTED, False):
        _measure()
        st.rerun()


def _ask() -> None:
    """Callback of the button: request a measurement from the next script run."""
    st.session_state[REQUESTED] = True


def _measure() -> None:
    """Measure with a progress bar; any click stops this, because updating the bar then raises an exception."""
    bar = st.progress(0.0, "Waiting for a turn …")
    use_one_thread()
    measured_costs: list[Cost] = []
    for cost in measure_in_turns(measurements(repeats=REPEATS, available=memory_available())):
        measured_costs.append(cost)
        bar.progress(
            len(measured_costs) / len(LENGTHS) / len(ATTENTIONS), f"{NAMES[cost.attention]}: {cost.length:,} tokens"
        )
    if measured_costs:
        cores = f"this machine, just now, one of its {os.cpu_count()} CPU cores"
        st.session_state[MEASURED] = RecordedCosts(
            tuple(measured_costs), MODEL, cores, "python benchmarks/long_texts.py"
        )


def measure_in_turns(costs: Iterator[Cost]) -> Iterator[Cost]:
    """Yield the costs, and release the lock after each, so that other users wait for one measurement at most."""
    while True:
        with LONG_RUNS:
            cost = next(costs, None)
        if cost is None:
            return
        yield cost
