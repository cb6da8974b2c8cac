"""The "Backpropagation" page: the gradient of one sentence's loss, from the loss back to the embeddings."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.params.pages import PAGES
from pages.ui.params.training_lab import LabParams
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.shell.parts import pick_part
from pages.ui.state.bind import setting

PAGE = PAGES["backpropagation"]

part = pick_part(PAGE.name, BackpropagationParams)
reading = read_sentence()
show_translation(reading)
PAGE.function(part)(reading)
if st.button(
    "Watch gradients train a Transformer",
    key="backward_lab",
    icon=":material/play_arrow:",
    help="Opens the training lab, where an Adam optimizer written by hand updates the parameters.",
    **setting(LabParams, optimizer="adam-by-hand"),
):
    st.switch_page(PAGES["training_lab"].script)
