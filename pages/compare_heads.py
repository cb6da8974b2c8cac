"""Heads compared: by their metrics, by similarity, two by two, and through the layers."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui import session
from pages.ui.bind import bind
from pages.ui.compare.across_layers import show_across_layers
from pages.ui.compare.all_heads import show_all_heads
from pages.ui.compare.similar_heads import show_similar_heads
from pages.ui.compare.two_heads import show_two_heads
from pages.ui.model_picker import translator
from pages.ui.params.compare import HEADS, LAYERS, PARTS, SIMILARITY, TWO_HEADS, CompareParams
from pages.ui.sentence import read_sentence
from pages.ui.text.labels import SHORT_TITLES
from pages.ui.translation import show_translation

NAMES = {HEADS: "All heads", SIMILARITY: "Similarity", TWO_HEADS: "A against B", LAYERS: "Across layers"}

# In one line, and close together: on a projector, every line above a figure pushes it off the screen.
with st.container(gap="xsmall"):
    controls = st.container(horizontal=True, vertical_alignment="center")
    controls.segmented_control(
        "Compare", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed", wrap=True,
        **bind(CompareParams, "part"),
    )
    part = session.params(CompareParams).part
    if part == TWO_HEADS:
        show_two_heads(translator(), controls)
    else:
        reading = read_sentence()
        show_translation(reading)
        if part == HEADS:
            show_all_heads(reading, controls)
        else:
            controls.segmented_control(
                "Kind of attention", SHORT_TITLES, format_func=SHORT_TITLES.__getitem__, required=True,
                label_visibility="collapsed", wrap=True, **bind(CompareParams, "kind"),
            )
            {SIMILARITY: show_similar_heads, LAYERS: show_across_layers}[part](reading)
