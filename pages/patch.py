"""The "Patch" page: copies activations between the model's runs on two sentences, and shows the new output."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.patch.grid import show_grid
from pages.ui.patch.outcome import show_outcome
from pages.ui.patch.question import pick_question
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation

with st.container(gap="xsmall"):
    reading = read_sentence()
    show_translation(reading)
    asked = pick_question(reading)
show_outcome(asked, show_grid(asked))
