"""The vote in a lecture: the lecturer sends the question from the current page's bet to the audience's phones."""

from __future__ import annotations

import os
from collections.abc import Container
from typing import TYPE_CHECKING

import streamlit as st

from attention_atlas.vote_endpoint import LECTURER_COOKIE
from pages.ui.components.bundle import component
from pages.ui.lecture.qr_code import full_address, local_only, qr_code

if TYPE_CHECKING:
    # Import the type only for type checking: `bet` imports torch, which would delay the first page.
    from pages.ui.bets.bet import Bet

KEY = "vote"
PATH = "vote"
# Session-state keys for the current page's bet, and for whether the lecturer has opened the vote.
NOTED_BET, IS_OPEN = "_vote_bet", "_vote_opened"

draw_vote = component("lecture/vote")


def note_bet(bet: Bet) -> None:
    """Store the current page's bet for `show_vote`, if the user is the lecturer."""
    if is_lecturer():
        st.session_state[NOTED_BET] = bet


def is_lecturer() -> bool:
    """Return whether the browser sent a lecturer's cookie.

    The cookie's value is not checked here. The vote endpoint checks it when the lecturer opens or closes a vote.
    """
    return os.environ.get(LECTURER_COOKIE, "") in st.context.cookies


def show_vote(pages: Container[str]) -> None:
    """Show the button that opens the vote, and the vote once it is open; show nothing if the user is not the lecturer.

    Args:
        pages: the URL paths of all pages.
    """
    # Remove the bet from the session state, because a bet keeps a whole trace in memory.
    bet = st.session_state.pop(NOTED_BET, None)
    if not is_lecturer():
        return

    def act() -> None:
        st.session_state[IS_OPEN] = st.session_state[KEY].get("act") == "open"

    address = full_address(st.context.url or "", PATH, {}, pages).rstrip("?")
    opened = st.session_state.get(IS_OPEN, False)
    with st.container(key="lecture_vote"):
        draw_vote(
            key=KEY,
            on_act_change=act,
            width="stretch",
            data={
                "opened": opened,
                "address": address,
                "image": qr_code(address),
                "problem": local_only(address),
                "asked": _vote_question(bet) if opened and bet is not None else None,
            },
        )


def _vote_question(bet: Bet) -> dict[str, object]:
    answer = bet.settle().for_vote()
    return {
        "question": bet.question,
        "choices": answer.question.choices,
        "answer": answer.question.answer,
        "shares": answer.shares,
        "says": answer.reason,
    }
