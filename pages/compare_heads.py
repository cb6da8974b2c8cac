"""Heads compared: by their metrics, by similarity, two by two, and through the layers."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.compare_heads.across_layers import show_across_layers
from pages.ui.compare_heads.all_heads import show_all_heads
from pages.ui.compare_heads.similar_heads import show_similar_heads
from pages.ui.compare_heads.two_heads import show_two_heads
from pages.ui.heads.head_picker import pick_kind
from pages.ui.language_model.subject import compared_subject, named_besides, read_subject, subject_choice
from pages.ui.params.compare_heads import HEADS, LAYERS, PARTS, SIMILARITY, TWO_HEADS, CompareParams
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.text.labels import SHORT_TITLES

NAMES = {HEADS: "All heads", SIMILARITY: "Similarity", TWO_HEADS: "A against B", LAYERS: "Across layers"}

# In one line, and close together: on a projector, every line above a figure pushes it off the screen.
with st.container(gap="xsmall"):
    controls = st.container(horizontal=True, vertical_alignment="center", gap="xsmall")
    with controls:
        subject_choice(CompareParams.PREFIX)
        st.segmented_control(
            "Compare", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed", wrap=True,
            **bind(CompareParams, "part"),
        )
    part = session.params(CompareParams).part
    if part == TWO_HEADS:
        show_two_heads(compared_subject(), controls)
    else:
        reading = read_subject()
        if part == HEADS:
            show_all_heads(reading, controls, named_besides())
        else:
            with controls:
                kind = pick_kind(
                    reading.trace.kinds, CompareParams, SHORT_TITLES, label_visibility="collapsed", wrap=True
                )
            {SIMILARITY: show_similar_heads, LAYERS: show_across_layers}[part](reading, kind)
