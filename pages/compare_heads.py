"""Heads held against each other: by numbers, by likeness, two by two, and through the layers."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui import state  # noqa: E402
from pages.ui.browser import TITLES  # noqa: E402
from pages.ui.compare.across_layers import show_across_layers  # noqa: E402
from pages.ui.compare.all_heads import show_all_heads  # noqa: E402
from pages.ui.compare.comparison import HEADS, LAYERS, PARTS, SIMILARITY, VERSUS, Comparison  # noqa: E402
from pages.ui.compare.similar_heads import show_similar_heads  # noqa: E402
from pages.ui.compare.versus import show_versus  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation, translator  # noqa: E402

NAMES = {HEADS: "All heads", SIMILARITY: "Similarity", VERSUS: "A against B", LAYERS: "Across layers"}

part = st.segmented_control(
    "Compare", PARTS, key=state.hold("compare_part", state.own(Comparison).part), format_func=NAMES.get, required=True,
    on_change=lambda: state.keep(Comparison, part=st.session_state.compare_part),
)
if part == VERSUS:
    show_versus(translator())
else:
    reading = read_sentence()
    show_translation(reading)
    if part == HEADS:
        show_all_heads(reading)
    else:
        st.segmented_control(
            "Kind of attention", TITLES, key=state.hold("compare_kind", state.own(Comparison).kind),
            format_func=TITLES.get, required=True,
            on_change=lambda: state.keep(Comparison, kind=st.session_state.compare_kind),
        )
        {SIMILARITY: show_similar_heads, LAYERS: show_across_layers}[part](reading)
