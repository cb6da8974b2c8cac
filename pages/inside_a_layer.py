"""Inside a layer: the way of one sentence through the model, and one cell of it, number by number."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui import state  # noqa: E402
from pages.ui.inside.counts import show_parameters  # noqa: E402
from pages.ui.inside.dissection import show_cell  # noqa: E402
from pages.ui.inside.example import show_example  # noqa: E402
from pages.ui.inside.inspection import (  # noqa: E402
    CELL,
    EXAMPLE,
    MASK,
    NORM,
    PARAMETERS,
    PARTS,
    WAY,
    Inspection,
)
from pages.ui.inside.norms import show_norm  # noqa: E402
from pages.ui.inside.triangle import show_mask  # noqa: E402
from pages.ui.inside.way import show_way  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation, translator  # noqa: E402

NAMES = {
    WAY: "The way", CELL: "One cell", EXAMPLE: "Worked example", MASK: "The mask", NORM: "Norm and residual",
    PARAMETERS: "Parameters",
}
READS = {WAY: show_way, CELL: show_cell, MASK: show_mask, NORM: show_norm}

st.segmented_control(
    "Inside a layer", PARTS, format_func=NAMES.get, required=True, **state.held(Inspection, "part"),
)
part = state.own(Inspection).part
if part in READS:
    reading = read_sentence()
    show_translation(reading)
    READS[part](reading)
elif part == EXAMPLE:
    show_example()
else:
    show_parameters(translator())
