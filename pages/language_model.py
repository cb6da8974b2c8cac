"""Language model: it goes on from a beginning, and says how likely a text is."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.language_model.continuing import show_continuation
from pages.ui.language_model.copying_heads import show_copying_heads
from pages.ui.language_model.introduction import introduce
from pages.ui.language_model.likely import show_likely
from pages.ui.language_model.model import language_model
from pages.ui.language_model.steps import show_steps
from pages.ui.language_model.subject import links_to_its_heads
from pages.ui.params.language_model import CONTINUE, HEADS, LIKELY, PARTS, STEPS, LanguageModelParams
from pages.ui.state import session
from pages.ui.state.bind import bind

NAMES = {CONTINUE: "How it goes on", STEPS: "Step by step", LIKELY: "How likely a text is", HEADS: "Heads that copy"}
SHOWN = {CONTINUE: show_continuation, STEPS: show_steps, LIKELY: show_likely, HEADS: show_copying_heads}

# Close together: on a projector, every line above the map pushes it off the screen.
with st.container(gap="xsmall"):
    model = language_model()
    with st.container(horizontal=True, vertical_alignment="center", key="what_it_is"):
        st.segmented_control(
            "Language model", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed",
            **bind(LanguageModelParams, "part"),
        )
        with st.container(width="stretch"):
            introduce(model)
    SHOWN[session.params(LanguageModelParams).part](model)
links_to_its_heads()
