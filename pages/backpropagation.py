"""Backpropagation: the gradient of one sentence's loss, from the loss back to the embeddings."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.backpropagation.gradient import show_gradient
from pages.ui.backpropagation.sizes import show_sizes
from pages.ui.params.backpropagation import GRADIENTS, PARTS, SIZES, BackpropagationParams
from pages.ui.params.training_lab import LabParams
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.state import session
from pages.ui.state.bind import bind

NAMES = {GRADIENTS: "Step by step, backwards", SIZES: "Large and small gradients"}
SHOWS = {GRADIENTS: show_gradient, SIZES: show_sizes}

st.segmented_control(
    "Backpropagation", PARTS, format_func=NAMES.__getitem__, required=True, label_visibility="collapsed",
    **bind(BackpropagationParams, "part"),
)
reading = read_sentence()
show_translation(reading)
SHOWS[session.params(BackpropagationParams).part](reading)
if st.button(
    "Watch gradients train a Transformer", key="backward_lab", icon=":material/play_arrow:",
    help="Opens the training lab, where Adam written out by hand takes the steps.",
    on_click=session.update, args=(LabParams,), kwargs={"optimizer": "adam-by-hand"},
):
    st.switch_page("pages/training_lab.py")
