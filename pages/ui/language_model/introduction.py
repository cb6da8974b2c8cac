"""What the language model is, in a sentence."""

from __future__ import annotations

import re

import streamlit as st

from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.checkpoints.language_model import LoadedLanguageModel
from transformer.files.paths import LANGUAGE_MODEL

# As its card says it.
TEXTS = re.compile(r"(?<![0-9,])([0-9][0-9,]{1,15}) different texts")


def introduce(loaded: LoadedLanguageModel) -> None:
    """Draw it."""
    config = loaded.model.config
    if loaded.folder == LANGUAGE_MODEL:
        which, whose = "this small one mostly writes grammatical nonsense", f"has read {_amount(loaded.card)}"
    else:
        folder = markdown(str(loaded.folder))
        which, whose = f"this one is from the folder {folder}", "may have read anything"
    st.markdown(
        f":small[**A language model predicts the next piece, again and again**; {which}.]",
        help=f"This one is decoder-only, has {config.layers} × {config.heads} heads and {loaded.parameters / 1e6:.1f} "
        f"million parameters, and {whose}. {explain('decoder-only', 'language model', 'parameter', 'layer', 'head')}",
    )


def _amount(card: str) -> str:
    """What its card says that it was trained on."""
    found = TEXTS.search(card)
    return f"{found[1]} short English texts" if found else "short English texts"
