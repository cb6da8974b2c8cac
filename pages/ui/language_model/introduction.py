"""Introduces the language model in one sentence."""

import re

import streamlit as st

from pages.ui.state import session
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.server_paths import path_label
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.files.paths import LANGUAGE_MODEL

# Pattern that finds the number of training texts in a model card.
TEXTS = re.compile(r"(?<![0-9,])([0-9][0-9,]{1,15}) different texts")


def introduce(loaded: LanguageModel) -> None:
    config = loaded.model.config
    if loaded.folder == LANGUAGE_MODEL:
        which, whose = "this small one mostly writes grammatical nonsense", f"was trained on {_amount(loaded.card)}"
    else:
        assert loaded.folder is not None, "a page's model comes from a folder"
        folder = markdown(path_label(loaded.folder))
        which, whose = f"this one is from the folder {folder}", "may have been trained on any kind of text"
    st.markdown(
        f":small[**A language model predicts the next token, again and again**; {which}.]",
        help=f"This model is decoder-only, has {config.decoder_layers} × {config.heads} heads and "
        f"{loaded.parameters / 1e6:.1f} million parameters, and {whose}. "
        f"{explain('decoder-only', 'language model', 'parameter', 'layer', 'head')}",
    )
    if session.sentence_list().sentences:
        st.caption("Only the translator reads *My sentences*. To run this model on one of them, paste it here.")


def _amount(card: str) -> str:
    match = TEXTS.search(card)
    return f"{match[1]} short English texts" if match else "short English texts"
