"""Chooses the language that a multilingual model writes: a code such as ">>fra<<" at the start of the text.

The code belongs to the text, in the address too, because the model reads it as a token. The box shows the text without
it, and a text that is typed or picked keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.ui.state import session
from pages.ui.state.bind import preset
from pages.ui.text.markup import markdown
from transformer.text.languages import is_code, language
from transformer.text.vocabulary import split_code, with_code


def chosen_code(codes: Sequence[str]) -> str:
    """The code at the start of the text; empty if there is none.

    Args:
        codes: of the model.
    """
    return split_code(session.text(), codes)[0]


def text_of_box(codes: Sequence[str]) -> str:
    """The text without its code."""
    code, rest = split_code(session.text(), codes)
    return rest.lstrip() if code else rest


def kept_code(text: str, codes: Sequence[str]) -> str:
    """Another text with the same code, unless that text has a code of its own."""
    return with_code(text, chosen_code(codes), codes)


def language_choice(codes: Sequence[str]) -> None:
    """Draw the list of codes; choosing one reads the same text again."""

    def choose() -> None:
        code, rest = st.session_state.target_language, text_of_box(codes)
        session.read_text(with_code(rest, code if code in codes else "", codes))

    st.selectbox(
        "Write in", sorted(codes, key=_label), index=None, format_func=_label, on_change=choose,
        placeholder="Choose one …",
        key=preset("target_language", chosen_code(codes) or None),
        help="This model writes several languages. The code of the chosen language is the first token of the sentence, "
        "with its own row and column.",
    )


def _label(code: str) -> str:
    inside = code[2:-2]
    return f"{language(inside).name} ({inside})" if is_code(inside) else markdown(inside)
