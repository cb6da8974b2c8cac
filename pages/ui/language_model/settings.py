"""Decoding settings: the method, and its numeric parameters."""

from __future__ import annotations

import streamlit as st

from pages.ui.language_model.model import language_model_choice
from pages.ui.params.language_model import ContinuationParams, LanguageModelParams
from pages.ui.reading.model_picker import show_device_choice
from pages.ui.state import session
from pages.ui.state.bind import bind, bind_number
from pages.ui.text.glossary import explain
from transformer.values.decoding_settings import METHODS

NAMES = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling"}
# The numeric parameters of each decoding method: field, label, and step of the number box.
NUMBERS = {
    "greedy": (),
    "beam": (("beam_size", "Beam size", 1), ("length_penalty", "Length penalty", 0.1)),
    "sample": (
        ("temperature", "Temperature", 0.1),
        ("top_k", "Top-k (0: all)", 1),
        ("top_p", "Top-p", 0.05),
        ("seed", "Seed", 1),
    ),
}
WORDS = {
    "beam_size": "beam",
    "length_penalty": "length penalty",
    "temperature": "temperature",
    "top_k": "top-k",
    "top_p": "top-p",
    "seed": "seed",
}


def continuation_settings() -> None:
    """Show a button that opens the settings: decoding method, number of tokens to write, device and model."""
    with st.popover("Settings", icon=":material/tune:", width="stretch"):
        st.segmented_control(
            "How the next token is chosen",
            METHODS,
            format_func=NAMES.__getitem__,
            required=True,
            help=explain("greedy", "beam", "sampling"),
            **bind(ContinuationParams, "method"),
        )
        for name, label, step in NUMBERS[session.params(ContinuationParams).method]:
            st.number_input(label, step=step, help=explain(WORDS[name]), **bind_number(ContinuationParams, name))
        st.number_input("Maximum tokens", step=1, help=explain("token"), **bind_number(LanguageModelParams, "length"))
        show_device_choice()
        language_model_choice()
