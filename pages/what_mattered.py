"""What mattered: what every method says of a word of the translation, and how far that can be believed."""

from __future__ import annotations

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.params.what_mattered import (
    AGREEMENT,
    GUESS,
    PARTS,
    SIDES,
    STRIP,
    WRITERS,
    MatteredParams,
)
from pages.ui.reading.model_picker import chosen_languages
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.state import session
from pages.ui.state.bind import bind
from pages.ui.what_mattered.agreement import show_agreement
from pages.ui.what_mattered.components import show_components
from pages.ui.what_mattered.guess import show_guess
from pages.ui.what_mattered.sides import show_sides
from pages.ui.what_mattered.words import show_words

NAMES = {
    STRIP: "Which words", WRITERS: "Which parts of the model", AGREEMENT: "Do the methods agree?",
    SIDES: "{source} or {target}", GUESS: "Guess first",
}
SHOWS = {
    STRIP: show_words, WRITERS: show_components, AGREEMENT: show_agreement, SIDES: show_sides, GUESS: show_guess,
}

languages = chosen_languages()
st.segmented_control(
    "What mattered", PARTS, required=True, label_visibility="collapsed", **bind(MatteredParams, "part"),
    format_func=lambda part: NAMES[part].format(source=languages.source.name, target=languages.target.name),
)
reading = read_sentence()
show_translation(reading)
st.markdown(
    "Which words does a translated word come from? Seven methods answer, and they often disagree. Six of them read the "
    "answer off the model's numbers; one, erasure, measures it: it hides a word and looks at what happens."
)
SHOWS[session.params(MatteredParams).part](reading)
