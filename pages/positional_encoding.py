"""Positional encoding: how the order of the pieces is known, what its vectors measure, and whether they matter."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.params.positional_encoding import (
    ALTERNATIVES,
    CURVES,
    DISTANCES,
    MATRIX,
    PARTS,
    SHUFFLED,
    SUM,
    PositionsParams,
)
from pages.ui.positional_encoding.addition import show_addition
from pages.ui.positional_encoding.alternatives import show_alternatives
from pages.ui.positional_encoding.curves import show_curves
from pages.ui.positional_encoding.distances import show_distances
from pages.ui.positional_encoding.matrix import show_matrix
from pages.ui.positional_encoding.shuffled import show_shuffled
from pages.ui.reading.model_picker import translator
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.runs import inference
from pages.ui.state import session
from pages.ui.state.bind import bind

NAMES = {
    SHUFFLED: "What if the order were lost?", CURVES: "Curves", MATRIX: "Matrix", DISTANCES: "What it measures",
    SUM: "Added or concatenated", ALTERNATIVES: "Alternatives",
}
READS = {SUM: show_addition, SHUFFLED: show_shuffled}
COMPUTES = {CURVES: show_curves, MATRIX: show_matrix, DISTANCES: show_distances}

st.segmented_control(
    "Positional encoding", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed",
    **bind(PositionsParams, "part"),
)
part = session.params(PositionsParams).part
if part in READS:
    reading = read_sentence()
    show_translation(reading)
    READS[part](reading)
elif part == ALTERNATIVES:
    model = translator()
    show_alternatives(model.config, inference.weights(model))
else:
    COMPUTES[part]()
