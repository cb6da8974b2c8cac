"""The "Switch heads off" page: translates without the heads that a user chose, and measures each head's importance."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from pages.ui.bets.offer import show_bet
from pages.ui.heads.kinds import head_title
from pages.ui.measurements.own_sentences import show_own_sentences
from pages.ui.params.switch_heads_off import OffParams
from pages.ui.reading.sentence import read_sentence
from pages.ui.state import session
from pages.ui.switch_heads_off.effect import show_effect
from pages.ui.switch_heads_off.example import show_example
from pages.ui.switch_heads_off.importance import scroll_to_importance, show_importance
from pages.ui.switch_heads_off.removal import show_removal
from pages.ui.switch_heads_off.switches import pick_heads

reading = read_sentence()
says, worth = st.columns([8, 3], vertical_alignment="center")
says.markdown(
    "A head can look at something without affecting the translation. Click heads to switch them off, and see what "
    "the model writes without them. Rows are layers. Click a row or column number to toggle all its heads."
)
with worth:
    scroll_to_importance()
params = session.params(OffParams)
only = head_title(*params.heads.heads[0]) if len(params.heads.heads) == 1 else None
show_bet("switch_heads_off", reading, clicked=only)
example = st.container()
interventions = pick_heads(reading)
# Fill in the example only after the switches are drawn, because the search for an example takes time.
with example:
    show_example(reading)
# The lowest section that the user has opened is the main figure.
show_effect(reading, interventions, params.draws, main=not (params.importance or params.removal))
show_importance(reading, main=params.importance and not params.removal)
show_removal(reading)
show_own_sentences(reading, "off")
