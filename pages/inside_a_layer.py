"""Inside a layer: one sentence through every stage of the model, and one cell of it, number by number."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.inside_a_layer.cell import show_cell
from pages.ui.inside_a_layer.mask import show_mask
from pages.ui.inside_a_layer.norm_and_residual import show_norm
from pages.ui.inside_a_layer.parameters import show_parameters, show_parameters_of_language_model
from pages.ui.inside_a_layer.stages import show_stages
from pages.ui.inside_a_layer.worked_example import show_example
from pages.ui.language_model.model import language_model
from pages.ui.language_model.subject import language_model_shown, read_subject, subject_choice
from pages.ui.params.inside_a_layer import (
    CELL,
    EXAMPLE,
    MASK,
    NORM,
    PARAMETERS,
    PARTS,
    STAGES,
    InsideParams,
)
from pages.ui.reading.model_picker import translator
from pages.ui.state import session
from pages.ui.state.bind import bind

NAMES = {
    STAGES: "Stage by stage", CELL: "One cell", EXAMPLE: "Worked example", MASK: "The mask", NORM: "Norm and residual",
    PARAMETERS: "Parameters",
}
READS = {STAGES: show_stages, CELL: show_cell, MASK: show_mask, NORM: show_norm}

# Close together: on a projector, every line above a figure pushes it off the screen.
with st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center"):
        subject_choice(InsideParams.PREFIX)
        st.segmented_control(
            "Inside a layer", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed",
            **bind(InsideParams, "part"),
        )
    part = session.params(InsideParams).part
    if part in READS:
        reading = read_subject()
if part in READS:
    READS[part](reading)
elif part == EXAMPLE:
    show_example()
elif language_model_shown():
    show_parameters_of_language_model(language_model().model.config)
else:
    show_parameters(translator())
