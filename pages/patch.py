"""The "Patch" page: copies activations between the model's runs on two sentences, and shows the new output."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.params.pages import PAGES
from pages.ui.patch.grid import show_grid
from pages.ui.patch.outcome import show_outcome
from pages.ui.patch.question import pick_question
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.state import session

with st.container(gap="xsmall"):
    reading = read_sentence()
    show_translation(reading)
    asked = pick_question(reading)
show_outcome(asked, show_grid(asked))
st.page_link(
    PAGES["how_it_came_about"].script,
    label="Follow this token back through the model",
    icon=":material/account_tree:",
    query_params=session.address_on(
        "how_it_came_about", {**session.address(), "graph_position": str(asked.question.step + 1)}
    ),
)
