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
        which, whose = "This small one", f"has read {_amount(loaded.card)}, and writes mostly grammatical nonsense"
    else:
        which, whose = "This one", f"comes from the folder {markdown(str(loaded.folder))}"
    st.markdown(
        f"**A language model predicts a text’s next piece, again and again.** {which} (decoder-only, "
        f"{config.layers} × {config.heads} heads, {loaded.parameters / 1e6:.1f} million parameters) {whose}.",
        help=explain("decoder-only", "language model", "parameter", "layer", "head"),
    )


def _amount(card: str) -> str:
    """What its card says that it was trained on."""
    found = TEXTS.search(card)
    return f"{found[1]} short English texts" if found else "short English texts"
