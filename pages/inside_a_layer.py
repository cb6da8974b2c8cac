"""The "Inside a layer" page: follows a sentence through all stages of the model, and shows how a value is computed."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.inside_a_layer.parameters import show_parameters_of_language_model
from pages.ui.language_model.model import language_model
from pages.ui.language_model.subject import is_language_model, read_subject, subject_choice
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.params.pages import PAGES
from pages.ui.reading.model_picker import translator
from pages.ui.shell.parts import pick_part

PAGE = PAGES["inside_a_layer"]

# Keep the gaps small, so that a figure still fits on the screen of a projector.
with st.container(gap="xsmall"):
    with st.container(horizontal=True, vertical_alignment="center"):
        subject_choice(InsideParams.PREFIX)
        part = pick_part(PAGE.name, InsideParams)
    shown = (read_subject(),) if PAGE.parts[part].reads else ()
if part != "parameters":
    PAGE.function(part)(*shown)
elif is_language_model():
    show_parameters_of_language_model(language_model().model.config)
else:
    PAGE.function(part)(translator())
