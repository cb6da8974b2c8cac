"""Positional encoding: what tells a Transformer which piece comes first, what it measures, and whether it matters."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui import inference, state  # noqa: E402
from pages.ui.positions.addition import show_addition  # noqa: E402
from pages.ui.positions.curves import show_curves  # noqa: E402
from pages.ui.positions.encoding import (  # noqa: E402
    CURVES,
    MATRIX,
    MATTERS,
    MEASURES,
    OTHERS,
    PARTS,
    SUM,
    Encoding,
)
from pages.ui.positions.matters import show_matters  # noqa: E402
from pages.ui.positions.measures import show_measures  # noqa: E402
from pages.ui.positions.others import show_others  # noqa: E402
from pages.ui.positions.table import show_matrix  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation, translator  # noqa: E402

NAMES = {
    CURVES: "Curves", MATRIX: "Matrix", MEASURES: "What it measures", SUM: "Added or concatenated",
    OTHERS: "Other ways", MATTERS: "Does it matter?",
}
READS = {SUM: show_addition, MATTERS: show_matters}
COMPUTES = {CURVES: show_curves, MATRIX: show_matrix, MEASURES: show_measures}

st.segmented_control(
    "Positional encoding", PARTS, format_func=NAMES.get, required=True, **state.held(Encoding, "part"),
)
part = state.own(Encoding).part
if part in READS:
    reading = read_sentence()
    show_translation(reading)
    READS[part](reading)
elif part == OTHERS:
    model = translator()
    show_others(model.config, inference.weights(model, model.version, model.device))
else:
    COMPUTES[part]()
