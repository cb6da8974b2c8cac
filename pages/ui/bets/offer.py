"""Offers a page's bet in one line; once the user accepts, shows the question, the verdict, the reason and the score."""

from collections.abc import Callable, Collection
from importlib import import_module
from zlib import crc32

import streamlit as st

from pages.ui.bets.ask import ask
from pages.ui.bets.bet import Bet
from pages.ui.bets.verdict import Verdict, verdict
from pages.ui.bets.vote import note_bet
from pages.ui.components.bundle import component
from pages.ui.params.bets import BetParams
from pages.ui.params.lessons import SHOWN
from pages.ui.params.pages import PAGES
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.text.markup import markdown
from transformer.lessons.result import Question

# Session-state key for the choice that was already selected in the figure when the user accepted the bet. That choice
# does not count as an answer.
SHOWN_BEFORE = "_bet_before"

draw_score = component("bets/score")


def show_bet(
    name: str, reading: Reading, *, clicked: str | None = None, pinned: Collection[int] = (), opened: bool = False
) -> int | None:
    """Show a page's bet, and return the index of the user's choice; None if the user has not chosen.

    Args:
        name: the name of the page.
        reading: the sentence and its model run.
        clicked: the text that the user clicked in the page's figure. If it is one of the choices, it is the answer.
        pinned: positions that the user clicked in the page's map; used if `clicked` is None.
        opened: if True, show the bet without waiting for the user to accept it, and omit the explanation of the answer,
            which the page itself shows.
    """
    bet = _bet_of_page(name, reading)
    if bet is None:
        return None
    note_bet(bet)
    answer = session.params(BetParams).on(name)
    clicked = clicked or bet.choice_at(pinned)
    if not opened and not _is_accepted(name, bet.question, clicked):
        return None
    if not answer and clicked in bet.choices and clicked != st.session_state.get(SHOWN_BEFORE):
        answer = str(bet.choices.index(clicked) + 1)
        session.update(BetParams, answer=answer)
        session.rewrite_address()
    with st.container(border=True, key="bet"):
        st.markdown(f"**{markdown(bet.question)}**")
        if not answer:
            ask(Question(bet.choices, 0), "bet", _answer_callback(name), in_rows=True)
            with st.container(horizontal=True, gap="small"):
                st.button("Show me", key="bet_show", type="tertiary", on_click=_answer_callback(name), args=(SHOWN,))
                if not opened:
                    _close()
            return None
        bet_answer = bet.settle()
        judged = verdict(bet_answer.question, answer)
        reason = "" if opened else markdown(bet_answer.reason)
        st.markdown(" ".join(filter(None, [judged and judged.text, reason])))
        show_score(f"{name} {bet.question} {reading.trace.source_text}", judged)
        if not opened:
            _close()
    return int(answer) - 1 if judged is not None else None


def show_challenge(name: str, asks: str, judged: Verdict | None, about: str) -> None:
    """Show a bet that the user wins by doing something on the page, not by choosing an answer.

    Args:
        name: the name of the page.
        asks: the task, as plain text.
        judged: the verdict on the user's last attempt; None before the first one.
        about: identifies the bet for the score, together with `name` and `asks`.
    """
    if not _is_accepted(name, asks):
        return
    with st.container(border=True, key="bet"):
        st.markdown(" ".join(filter(None, [f"**{markdown(asks)}**", judged and judged.text])))
        # Only a win counts toward the score, because the user may try again.
        show_score(f"{name} {asks} {about}", judged if judged and judged.mark == "right" else None)
        _close()


def show_score(about: str, judged: Verdict | None) -> None:
    """Show how many of the user's answers to bets and lesson questions were right, close and wrong.

    The browser keeps this score and never sends it.

    Args:
        about: identifies the bet or question; only the first verdict on it counts.
        judged: the verdict; None leaves the score unchanged.
    """
    mark = judged.mark if judged else ""
    draw_score(
        key="bet_score", width="stretch", data={"id": f"{crc32(about.encode('utf-8', 'replace')):08x}", "mark": mark}
    )


def _is_accepted(name: str, asks: str, clicked: str | None = None) -> bool:
    if session.params(BetParams).page == name:
        return True

    def take() -> None:
        session.store(BetParams(page=name))
        st.session_state[SHOWN_BEFORE] = clicked

    st.button(f"Bet: {markdown(asks)}", key="bet_open", type="tertiary", icon=":material/casino:", on_click=take)
    return False


def _answer_callback(name: str) -> Callable[[str], None]:
    def store(answer: str) -> None:
        session.store(BetParams(page=name, answer=answer))

    return store


def _close() -> None:
    st.button("Close the bet", key="bet_close", type="tertiary", on_click=session.store, args=(BetParams(),))


def _bet_of_page(name: str, reading: Reading) -> Bet | None:
    page = PAGES[name]
    module, _, function = page.bet.rpartition(".")
    make = getattr(import_module(f"pages.ui.{page.folder or page.name}.{module}"), function)
    return make(reading, page.kind) if page.kind else make(reading)
