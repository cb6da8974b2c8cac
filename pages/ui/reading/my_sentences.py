"""The user's own list of sentences, pasted or read from a file, with buttons that step through it on every page.

The session stores the list, the browser keeps a copy for reloads (assets/sentence_list/), and slides contain the list.
The current position is not stored, because the sentence in the URL determines it.
"""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui.components.bundle import component
from pages.ui.reading.target_language import kept_code
from pages.ui.state import session
from pages.ui.text.sentence_list import MAX_CHARACTERS, SentenceList, sentences_in

KEY = "sentence_list"
# Session-state key for the number of times that the user has opened the dialog.
DIALOG_REQUESTS = "_my_sentences_asked"

draw_list = component("sentence_list/sentence_list")


def my_sentences(codes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the user's sentences, if any. Each sentence without language codes is prefixed with the current codes."""
    return tuple(kept_code(sentence, codes) for sentence in session.sentence_list().sentences)


def ask_for_list() -> None:
    """Open the dialog in which the user pastes or loads a list of sentences."""
    st.session_state[DIALOG_REQUESTS] = st.session_state.get(DIALOG_REQUESTS, 0) + 1


def sentence_stepper(codes: Sequence[str]) -> None:
    """Show buttons that step through the user's sentences, if any, and add the input dialog, which starts closed."""
    sentences = my_sentences(codes)

    def act() -> None:
        message = st.session_state[KEY].get("act")
        if isinstance(message, dict):
            _act(message, sentences)

    draw_list(
        key=KEY,
        on_act_change=act,
        width="stretch",
        data={
            "text": "\n".join(session.sentence_list().sentences),
            "given": session.SENTENCE_LIST in st.session_state,
            "at": _position(sentences),
            "count": len(sentences),
            "said": session.sentence_list().said,
            "asked": st.session_state.get(DIALOG_REQUESTS, 0),
            "limit": MAX_CHARACTERS,
        },
    )


def _act(message: dict[Any, Any], sentences: Sequence[str]) -> None:
    """Handle an untrusted message from the browser: store a new list, or step to another sentence."""
    text, step = message.get("text"), message.get("step")
    if isinstance(text, str):
        _take(text, restored=message.get("restored") is True)
    elif sentences and type(step) is int and abs(step) == 1:
        at = _position(sentences)
        # If the current sentence is not in the list, go to the first sentence.
        session.try_sentence(sentences[(at - 1 + step) % len(sentences) if at else 0])


def _take(text: str, *, restored: bool) -> None:
    sentence_list = sentences_in(text) if text.strip() else SentenceList()
    if not sentence_list.sentences and sentence_list.said:
        # A list that cannot be parsed does not replace the current list.
        sentence_list = SentenceList(session.sentence_list().sentences, sentence_list.said)
    elif sentence_list.sentences and not restored:
        session.try_sentence(sentence_list.sentences[0])
    st.session_state[session.SENTENCE_LIST] = sentence_list


def _position(sentences: Sequence[str]) -> int:
    """Return the 1-based position of the current sentence in the list; 0 if the list does not contain it."""
    return sentences.index(session.text()) + 1 if session.text() in sentences else 0
