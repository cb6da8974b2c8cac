"""The "Language model" page: continues a text, and shows how probable the model finds a text."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.language_model.introduction import introduce
from pages.ui.language_model.model import language_model
from pages.ui.language_model.subject import show_head_links
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.params.pages import PAGES
from pages.ui.shell.parts import pick_part

PAGE = PAGES["language_model"]

# Keep the gaps small, so that the map still fits on the screen of a projector.
with st.container(gap="xsmall"):
    model = language_model()
    with st.container(horizontal=True, vertical_alignment="center", key="what_it_is"):
        part = pick_part(PAGE.name, LanguageModelParams)
        with st.container(width="stretch"):
            introduce(model)
    PAGE.function(part)(model)
show_head_links()
