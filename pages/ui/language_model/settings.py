"""Form for the decoding settings of the language model: the method and its numeric parameters."""

import streamlit as st

from pages.ui.language_model.model import language_model_choice
from pages.ui.params.language_model import ContinuationParams, LanguageModelParams
from pages.ui.reading.model_picker import show_device_choice
from pages.ui.state import session
from pages.ui.state.bind import bind_number, segments
from pages.ui.text.glossary import explain

NAMES = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling"}
# Numeric parameters of each decoding method: field name, label, and step of the number box.
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
    """Show a button that opens the settings: decoding method, maximum number of new tokens, device and model."""
    with st.popover("Settings", icon=":material/tune:", width="stretch"):
        words = explain("greedy", "beam", "sampling")
        segments("How the next token is chosen", NAMES, ContinuationParams, "method", help=words)
        for name, label, step in NUMBERS[session.params(ContinuationParams).method]:
            st.number_input(label, step=step, help=explain(WORDS[name]), **bind_number(ContinuationParams, name))
        st.number_input(
            "Maximum new tokens", step=1, help=explain("token"), **bind_number(LanguageModelParams, "length")
        )
        show_device_choice()
        language_model_choice()
