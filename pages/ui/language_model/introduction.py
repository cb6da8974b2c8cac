"""What the language model is, in two sentences."""

from __future__ import annotations

import re

import streamlit as st

from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.language_modelling.checkpoint import LoadedLanguageModel
from transformer.paths import LANGUAGE_MODEL

# As its card says it.
TEXTS = re.compile(r"([0-9][0-9,]+) different texts")


def introduce(loaded: LoadedLanguageModel) -> None:
    """Draw it."""
    config = loaded.model.config
    if loaded.folder == LANGUAGE_MODEL:
        whose = f"small, and trained on {_amount(loaded.card)} alone, so it writes mostly grammatical nonsense"
    else:
        whose = f"from the folder {markdown(str(loaded.folder))}"
    st.markdown(
        f"**A language model reads a text and predicts its next piece, again and again.** This one is a decoder-only "
        f"Transformer, {config.layers} layers of {config.heads} heads with {loaded.parameters / 1e6:.1f} million "
        f"learned numbers, {whose}.", help=explain("decoder-only", "language model", "parameter", "layer", "head"),
    )


def _amount(card: str) -> str:
    """What its card says that it was trained on."""
    found = TEXTS.search(card)
    return f"{found[1]} short English texts" if found else "short English texts"
