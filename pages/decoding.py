"""The "Decoding step by step" page: for each step, the tokens read, the token predicted and the other candidates."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.bets.offer import show_bet
from pages.ui.decoding.component import decoding_steps
from pages.ui.decoding.methods_compared import show_methods_compared
from pages.ui.decoding.visited_translations import traced_decoding
from pages.ui.layout.roles import main_figure
from pages.ui.reading.sentence import read_sentence
from pages.ui.reading.translation import show_translation
from pages.ui.text.markup import markdown

reading = read_sentence()
# The steps below may use another decoding method, so the label states that this translation is the model's own.
show_translation(reading, label="The model's own translation")
st.markdown(
    "**Why step by step?** Each new word depends on the words already written, so the model writes one token, reads "
    "it, and writes the next. Choose another candidate and see the rest change. “␣” is the space before a word."
)
# Show this container even if it is empty, so that the elements below keep their position and the keyboard focus.
with st.container():
    traced, params = traced_decoding(reading)
    # If the model's own translation is incomplete, a message above already says so.
    if not traced.translation.complete and reading.own.complete:
        st.caption("This translation reached the length limit before it was finished.")
show_bet("decoding", reading)
with main_figure(f"**Step by step:** {markdown(reading.trace.source_text)}"):
    decoding_steps(reading, traced, params)
st.caption(
    "Each box shows the token of one step, coloured by its probability from 0 (dark) to 1 (bright). A "
    "token in a hollow box has not been written yet; an underlined token was forced. Attention weights have the same "
    "colour scale, and each row of weights sums to 1. The probabilities are always the model's own: temperature, "
    "top-k, top-p and banned tokens change which token is chosen, not these numbers."
)
show_methods_compared(reading)
