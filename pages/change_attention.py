"""The "Change what it looks at" page: users edit attention rows or erase words, and see how the translation changes."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.change_attention.editor import pick_kind, show_changes, show_editor
from pages.ui.change_attention.erasure import show_erasing
from pages.ui.change_attention.example import show_example
from pages.ui.change_attention.export import show_repeat
from pages.ui.change_attention.make_it_say import show_make_it_say
from pages.ui.change_attention.next_word import show_next_word
from pages.ui.change_attention.outcome import run_changed, show_outcome
from pages.ui.layout.roles import main_figure
from pages.ui.params.bets import BetParams
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.state import session
from transformer.values.interventions import AS_TRAINED

# Keep the gaps small, so that the map still fits on the screen of a projector.
with st.container(gap="xsmall"):
    reading = read_sentence()
    beside = show_translation(reading)
    resolved, experiment, found = run_changed(reading)
    with st.container(horizontal=True, vertical_alignment="center", key="outcome"):
        with st.container(width="stretch", key="changed"):
            show_outcome(reading, resolved, found)
        example = st.container(width="content")
        pick_kind()
    # A bet that the user accepted also shows a verdict, which needs more room than there is beside the translation.
    place = st.container() if session.params(BetParams).page == "change_attention" else beside
    with main_figure():
        choice = show_editor(reading, resolved, found.written.text if resolved.edits.edits else "")
    with place:
        show_make_it_say(reading, found.written.text if resolved.interventions != AS_TRAINED else None)
    if resolved.interventions == AS_TRAINED:
        # Show the map first, because the search for an example takes time.
        with example:
            show_example(reading)
changes, next_word = st.columns([1, 1], gap="large")
with changes:
    show_changes(reading)
    show_erasing(reading, found.written.text, words=choice.words)
with next_word:
    show_next_word(reading, found)
show_repeat(reading, resolved, found, experiment)
