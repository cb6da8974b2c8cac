"""The "How it came about" page: traces a predicted token back through the model, and splits an attention score into
terms.

The page shows an exact attribution graph, in which users can cut a path and measure the effect.
"""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.language_model.subject import read_subject, subject_choice
from pages.ui.params.how_it_came_about import GraphParams
from pages.ui.params.pages import PAGES
from pages.ui.shell.parts import pick_part

PAGE = PAGES["how_it_came_about"]

# Keep the gaps small, so that a figure still fits on the screen of a projector.
with st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center"):
        subject_choice(GraphParams.PREFIX)
        part = pick_part(PAGE.name, GraphParams)
    reading = read_subject()
PAGE.function(part)(reading)
