"""Controls for choosing the loss to differentiate: one translation step or all steps, and the label smoothing."""

import streamlit as st

from attention_atlas.browser.token_labels import token_label
from pages.ui.params.backpropagation import BackpropagationParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import bind_number, key_for, preset


def pick_loss(reading: Reading) -> None:
    """Show a select box for the translation step and a number box for label smoothing."""
    trace = reading.trace
    labels = ["all steps, added up"] + [
        f"step {number}: {token_label(token, trace.target_text)}"
        for number, token in enumerate(trace.predicted_tokens, start=1)
    ]
    key = key_for("backward_step", labels)
    at = min(session.params(BackpropagationParams).step, len(labels) - 1)
    st.selectbox(
        "Loss of",
        range(len(labels)),
        key=preset(key, at),
        format_func=labels.__getitem__,
        width=220,
        on_change=lambda: session.update(BackpropagationParams, step=st.session_state[key], row=0, column=0),
        help="The translation above counts as the correct one. The loss of a step is −log p, where p is the "
        "probability of the correct token.",
    )
    st.number_input(
        "Label smoothing",
        step=0.1,
        format="%.2f",
        width=150,
        **bind_number(BackpropagationParams, "smoothing"),
        help="The share of the target probability that is spread evenly over the whole vocabulary; the app's own "
        "model was trained with 0.1.",
    )
