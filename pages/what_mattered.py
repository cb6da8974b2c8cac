"""The "What mattered" page: explains a translated word with several attribution methods, and compares the methods."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.bets.offer import show_bet
from pages.ui.measurements.own_sentences import show_own_sentences
from pages.ui.params.pages import PAGES
from pages.ui.params.what_mattered import MatteredParams
from pages.ui.reading.model_picker import chosen_languages
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.shell.parts import pick_part

PAGE = PAGES["what_mattered"]

languages = chosen_languages()
part = pick_part(PAGE.name, MatteredParams, source=languages.source.name, target=languages.target.name)
reading = read_sentence()
show_translation(reading)
st.markdown(
    "Which words does a translated word come from? Several methods answer this question. They agree on clear cases and "
    "disagree on others. Most of them compute the answer from the model's attention weights, vectors and gradients. "
    "Erasure measures the effect of each word by hiding it and running the model again."
)
if part != "guess":
    show_bet(PAGE.name, reading)
PAGE.function(part)(reading)
show_own_sentences(reading, "written")
