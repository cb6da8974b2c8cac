"""The recorded cost measurement, and the button that measures on this machine, one length at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator

import streamlit as st

from pages.ui.long_texts.names import NAMES
from pages.ui.measured.recorded import read_record
from pages.ui.runs.inference import LONG_RUNS
from transformer.files.memory import memory_available
from transformer.files.paths import ASSETS
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, Cost, RecordedCosts
from transformer.language_modelling.cost_measurement import MODEL, measurements
from transformer.model.devices import use_one_thread

FILE = ASSETS / "attention_costs.json"
# Session key of the user's own measurement.
MEASURED = "_measured_costs"
# Session key of whether the user has requested a measurement.
ASKED = "_asked_costs"
# Timed passes at each length; more would delay other users.
REPEATS = 2


def costs() -> RecordedCosts | None:
    """Return the user's own measurement, or else the recorded one; None if that file is damaged."""
    return st.session_state.get(MEASURED) or read_record(FILE, RecordedCosts.from_json)


def measure_button() -> None:
    """Draw the button; once it was pressed, measure while the page waits."""
    st.button(
        "Measure on this machine",
        key="long_measure",
        icon=":material/timer:",
        on_click=_ask,
        help="Takes a few seconds. Lengths for which this machine has no memory are left out.",
    )
    if st.session_state.pop(ASKED, False):
        _measure()
        st.rerun()


def _ask() -> None:
    """Callback of the button: request a measurement."""
    st.session_state[ASKED] = True


def _measure() -> None:
    """Measure with a progress bar; a click meanwhile cancels it, because updating the bar then raises an exception."""
    bar = st.progress(0.0, "Waiting for a turn …")
    use_one_thread()
    found: list[Cost] = []
    for cost in in_turns(measurements(repeats=REPEATS, available=memory_available())):
        found.append(cost)
        bar.progress(len(found) / len(LENGTHS) / len(ATTENTIONS), f"{NAMES[cost.attention]}: {cost.length:,} tokens")
    if found:
        cores = f"this machine, just now, one of its {os.cpu_count()} CPU cores"
        st.session_state[MEASURED] = RecordedCosts(tuple(found), MODEL, cores, "python benchmarks/long_texts.py")


def in_turns(costs: Iterator[Cost]) -> Iterator[Cost]:
    """Yield the same costs, each measured in a turn of its own, so that other users wait for at most one of them."""
    while True:
        with LONG_RUNS:
            cost = next(costs, None)
        if cost is None:
            return
        yield cost
