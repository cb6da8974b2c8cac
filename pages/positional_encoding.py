"""Positional encoding: how the order of the pieces is known, what its vectors measure, and whether they matter."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui import inference, session
from pages.ui.bind import bind
from pages.ui.model_picker import translator
from pages.ui.params.positions import (
    ALTERNATIVES,
    CURVES,
    DISTANCES,
    MATRIX,
    PARTS,
    SHUFFLED,
    SUM,
    PositionsParams,
)
from pages.ui.positions.addition import show_addition
from pages.ui.positions.alternatives import show_alternatives
from pages.ui.positions.curves import show_curves
from pages.ui.positions.distances import show_distances
from pages.ui.positions.matrix import show_matrix
from pages.ui.positions.shuffled import show_shuffled
from pages.ui.sentence import read_sentence
from pages.ui.translation import show_translation

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
