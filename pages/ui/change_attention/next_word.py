"""Shows the probabilities of the next word before and after the user's changes, and a sentence that compares them."""

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import entry_label, label_without_space, token_label
from pages.ui.change_attention.history import update_edits
from pages.ui.charts.next_words import next_chart, next_words
from pages.ui.components.save_as import show_altair
from pages.ui.params.change_attention import EditParams
from pages.ui.reading.sentence import Reading
from pages.ui.state import session
from pages.ui.state.bind import key_for, preset
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.ablation.continuation import Continuation, candidates
from transformer.text.vocabulary import Vocabulary

COLUMNS = {"before": "as trained", "after": "changed"}


def chosen_step(reading: Reading) -> int | None:
    """Return the 0-based translation step that the user chose; None if the page chooses the step."""
    step = session.params(EditParams).step
    return min(int(step), len(reading.trace.predicted_tokens)) - 1 if step else None


def show_next_word(reading: Reading, continuation: Continuation) -> None:
    """Show a select box for the translation step, and a sentence and a chart about the next word at this step."""
    trace = reading.trace
    labels = {"": "chosen by the page"} | {
        str(step): f"{step}: {token_label(token, trace.target_text)}"
        for step, token in enumerate(trace.predicted_tokens, start=1)
    }
    key, step = key_for("edit_step", labels.values()), session.params(EditParams).step
    st.selectbox(
        "Step at which to show the next word",
        list(labels),
        format_func=labels.__getitem__,
        key=preset(key, step if step in labels else ""),
        on_change=lambda: update_edits(step=st.session_state[key]),
        help="The words before this step stay as they are; the changed model writes the rest. Unless you choose a "
        "step, the page picks the first one whose row you changed or whose most likely word changes. If there is none, "
        "it picks the step whose word changes most in probability.",
    )
    tokenizer = reading.translator.tokenizer
    st.markdown(describe_next(continuation, tokenizer))
    table = next_table(continuation, tokenizer)
    show_altair(
        next_chart(table, COLUMNS),
        "edit_next",
        "Probability of the most likely next tokens, in the model as trained and after the changes. "
        "The values are in the sentence above and in the saved table.",
    )
    st.caption(
        "The original and the changed model have read the same words before this step. For each model, only the ten "
        "most likely tokens are stored; a missing bar would be shorter than all bars of the same colour.",
        help=explain("token", "teacher forcing"),
    )


def describe_next(continuation: Continuation, tokenizer: Vocabulary) -> str:
    """Return Markdown that names the most likely next word, with its probability, before and after the changes."""
    old, new = continuation.next_tokens
    candidate_log_probs = dict(candidates((continuation.before, continuation.after), continuation.step, 1))
    names = {
        token: f"**{markdown(label_without_space(entry_label(tokenizer, token)))}**" for token in candidate_log_probs
    }
    was, now = (
        {
            token: _percent(log_probs[number], trace.candidate_log_probs[continuation.step, -1])
            for token, log_probs in candidate_log_probs.items()
        }
        for number, trace in enumerate((continuation.before, continuation.after))
    )
    if old == new:
        return (
            f"At step {continuation.step + 1}, the next word stays {names[old]}, with a probability of {was[old]} as "
            f"trained and {now[old]} now."
        )
    return (
        f"At step {continuation.step + 1}, the next word changes from {names[old]} ({was[old]} as trained, {now[old]} "
        f"now) to {names[new]} ({was[new]} as trained, {now[new]} now)."
    )


def _percent(log_prob: float, least: float) -> str:
    """Format a probability as a percentage; if it is unknown, as "less than" an upper bound.

    Args:
        log_prob: the token's log-probability; NaN if unknown, because only the most likely tokens are stored.
        least: the lowest log-probability that was stored, which is the upper bound.
    """
    percentage = f"{np.exp(least if np.isnan(log_prob) else log_prob):.1%}"
    return f"less than {percentage}" if np.isnan(log_prob) else percentage


def next_table(continuation: Continuation, tokenizer: Vocabulary) -> pd.DataFrame:
    """Return the table of next-token probabilities before and after the changes, for `next_chart`."""
    return next_words(
        dict(zip(COLUMNS, (continuation.before, continuation.after), strict=True)), continuation.step, tokenizer
    )


def step_table(continuation: Continuation) -> pd.DataFrame:
    """Return a table with one row per step: token, log-probability before and after the changes, and difference.

    Log-probabilities are in nats. The original and the changed model read the same translation.
    """
    before, after = continuation.before, continuation.after
    return pd.DataFrame(
        {
            "step": range(1, len(before.predicted_tokens) + 1),
            "token": [token_label(token, before.target_text) for token in before.predicted_tokens],
            "before": before.log_probs.astype(float),
            "after": after.log_probs.astype(float),
            "change": continuation.step_change.astype(float),
        }
    )
