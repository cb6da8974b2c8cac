"""The measurement that ships, and the button that measures on this machine: one at a time, length by length."""

from __future__ import annotations

import os
from functools import lru_cache

import streamlit as st

from pages.ui.inference import LONG_RUNS
from transformer.devices import use_one_thread
from transformer.language_modelling.cost import ATTENTIONS, LENGTHS, RecordedCosts
from transformer.language_modelling.cost_measurement import MODEL, measurements
from transformer.memory import memory_available
from transformer.paths import ASSETS

FILE = ASSETS / "attention_costs.json"
# What was measured for this person.
MEASURED = "_measured_costs"
# Whether this person has asked for it.
ASKED = "_asked_costs"
# Passes that are timed at each length; more would keep others waiting.
REPEATS = 2


def costs() -> RecordedCosts | None:
    """What was measured here, else what ships; None if that is damaged."""
    return st.session_state.get(MEASURED) or _recorded()


@lru_cache(maxsize=1)
def _recorded() -> RecordedCosts | None:
    try:
        return RecordedCosts.from_json(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def measure_button() -> None:
    """Draw it; once it was pressed, measure while the page waits."""
    st.button(
        "Measure on this machine", key="long_measure", icon=":material/timer:", on_click=_ask,
        help="Takes a few seconds. Lengths for which this machine has no memory are left out.",
    )
    if st.session_state.pop(ASKED, False):
        _measure()
        st.rerun()


def _ask() -> None:
    """Callback of the button."""
    st.session_state[ASKED] = True


def _measure() -> None:
    bar = st.progress(0.0, "Waiting for a turn …")
    found = []
    with LONG_RUNS:
        use_one_thread()
        for cost in measurements(repeats=REPEATS, available=memory_available()):
            found.append(cost)
            bar.progress(len(found) / len(LENGTHS) / len(ATTENTIONS), f"{cost.attention}: {cost.length:,} pieces")
    if found:
        cores = f"this machine, just now, one of its {os.cpu_count()} cores of a CPU"
        st.session_state[MEASURED] = RecordedCosts(
            tuple(found), MODEL, cores, "python benchmarks/long_texts.py"
        )
