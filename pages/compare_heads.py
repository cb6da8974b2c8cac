"""The "Compare heads" page: compares attention heads by metric, by similarity, in pairs and across layers."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from attention_atlas.browser.labels import SHORT_TITLES
from pages.ui.heads.head_picker import pick_kind
from pages.ui.language_model.subject import compared_subject, copying_head_names, read_maps, subject_choice
from pages.ui.measurements.own_sentences import show_own_sentences
from pages.ui.params.compare_heads import CompareParams
from pages.ui.params.pages import PAGES
from pages.ui.reading.sentence import Reading
from pages.ui.shell.parts import pick_part

PAGE = PAGES["compare_heads"]

# Put all controls on one line: on a projector, each extra line above a figure pushes more of it off the screen.
with st.container(gap="xsmall"):
    controls = st.container(horizontal=True, vertical_alignment="center", gap="xsmall")
    with controls:
        subject_choice(CompareParams.PREFIX)
        part = pick_part(PAGE.name, CompareParams)
    show = PAGE.function(part)
    if part == "two_heads":
        show(compared_subject(), controls)
    else:
        reading = read_maps()
        if part == "heads":
            show(reading, controls, copying_head_names())
        else:
            with controls:
                kind = pick_kind(
                    reading.trace.kinds, CompareParams, SHORT_TITLES, label_visibility="collapsed", wrap=True
                )
            show(reading, kind)
        if isinstance(reading, Reading):
            show_own_sentences(reading, "entropy")
