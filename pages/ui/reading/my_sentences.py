"""The user's own list of sentences: pasted or read from a file, and stepped through on every page.

The session has the list, and the browser keeps it for a reload (assets/sentence_list/). A slide has the list too. The
position is that of the sentence that is read, so every address has it as its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui.components.bundle import component
from pages.ui.reading.target_language import kept_code
from pages.ui.state import session
from pages.ui.text.sentence_list import MAX_BYTES, SentenceList, sentences_in

KEY = "sentence_list"
# Number of times that the user asked for the dialog, in the session.
ASKED = "_my_sentences_asked"

draw_list = component("sentence_list/sentence_list")


def my_sentences(codes: Sequence[str] = ()) -> tuple[str, ...]:
    """The user's sentences, as the model with these codes reads them; empty without a list."""
    return tuple(kept_code(sentence, codes) for sentence in session.sentence_list().sentences)


def ask_for_list() -> None:
    """Open the dialog that takes a list."""
    st.session_state[ASKED] = st.session_state.get(ASKED, 0) + 1


def sentence_stepper(codes: Sequence[str]) -> None:
    """Draw the buttons that step through the list, if there is one; without one, only the dialog that takes it."""
    sentences = my_sentences(codes)

    def act() -> None:
        sent = st.session_state[KEY].get("act")
        if isinstance(sent, dict):
            _act(sent, sentences)

    draw_list(
        key=KEY,
        on_act_change=act,
        width="stretch",
        data={
            "text": "\n".join(session.sentence_list().sentences),
            "given": session.MINE in st.session_state,
            "at": _position(sentences),
            "count": len(sentences),
            "said": session.sentence_list().said,
            "asked": st.session_state.get(ASKED, 0),
            "limit": MAX_BYTES,
        },
    )


def _act(sent: dict[Any, Any], sentences: Sequence[str]) -> None:
    """Carry out what the browser sent; the message is untrusted."""
    text, step = sent.get("text"), sent.get("step")
    if isinstance(text, str):
        _take(text, restored=sent.get("restored") is True)
    elif sentences and type(step) is int and abs(step) == 1:
        at = _position(sentences)
        # From a sentence that is not in the list, the next is the first.
        session.try_sentence(sentences[(at - 1 + step) % len(sentences) if at else 0])


def _take(text: str, *, restored: bool) -> None:
    found = sentences_in(text) if text.strip() else SentenceList()
    if not found.sentences and found.said:
        # A list that cannot be read leaves the former one.
        found = SentenceList(session.sentence_list().sentences, found.said)
    elif found.sentences and not restored:
        session.try_sentence(found.sentences[0])
    st.session_state[session.MINE] = found


def _position(sentences: Sequence[str]) -> int:
    """The place of the sentence that is read, from 1; 0 if it is not in the list."""
    return sentences.index(session.text()) + 1 if session.text() in sentences else 0
