"""Decoding, step by step: what was read, what was predicted, and what else it could have been."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui.decoding.roads import road_taken  # noqa: E402
from pages.ui.decoding.steps import decoding_steps  # noqa: E402
from pages.ui.decoding.ways import compared  # noqa: E402
from pages.ui.sentence import read_sentence, show_translation  # noqa: E402

reading = read_sentence()
# The boxes may show another way of choosing.
show_translation(reading, label="Greedily, in German")
road, course = road_taken(reading)
if not road.found.complete:
    st.caption("The limit on length ended this translation before its end symbol.")
decoding_steps(reading, road, course)
st.caption(
    "A box is one step: the piece it wrote, coloured by its probability, 0 dark to 1 bright; a hollow one is not yet "
    "written, an underlined one was forced. Rows of attention have the same colours and sum to 1. The probabilities "
    "are the model's own: neither temperature nor truncation nor a ban changes them, only what is taken."
)
compared(reading)
