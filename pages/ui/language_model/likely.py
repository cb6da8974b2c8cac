"""How likely the model finds a text: the probability of each piece given those before, and of all of them."""

from __future__ import annotations

import math
from functools import partial

import pandas as pd
import streamlit as st

from pages.ui import language_runs, session
from pages.ui.charts.pieces import piece_strip, piece_table
from pages.ui.charts.saving import csv_text, json_text, save_buttons
from pages.ui.components.save_as import show_altair
from pages.ui.components.text_box import text_box
from pages.ui.lecture.figure import main_figure
from pages.ui.params.language_model import LanguageModelParams
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown, piece_label
from transformer.errors import AtlasError
from transformer.language_modelling.checkpoint import LoadedLanguageModel
from transformer.language_modelling.scoring import TextScore
from transformer.normalisation import valid

BOXES = {"first": "A text in English", "second": "Another text, to compare; it may be empty"}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def show_likely(loaded: LoadedLanguageModel) -> None:
    """Two boxes, and for each text a strip of probabilities and a line of a table."""
    for name, place in zip(BOXES, st.columns(2), strict=True):
        with place:
            text_box(
                f"lm_{name}", getattr(session.params(LanguageModelParams), name), partial(_read, name),
                label=BOXES[name], placeholder="Type a text …", button="Read", primary=name == "first",
                asked=session.box_request(),
            )
    asked = session.params(LanguageModelParams)
    scores = [score for text in filter(str.strip, (asked.first, asked.second)) if (score := _score(loaded, text))]
    if not scores:
        if not asked.first.strip() and not asked.second.strip():
            st.warning("There is no text: type at least one word into a box.", icon=":material/edit:")
        return
    labels = [[piece_label(piece, score.text) for piece in score.pieces] for score in scores]
    found = verdict(scores)
    st.markdown(" ".join(found), help=explain("log-probability", "nats", "perplexity"))
    with main_figure(*found):
        show_altair(
            piece_strip([
                (f"text {number}", each, score.log_probs)
                for number, (each, score) in enumerate(zip(labels, scores, strict=True), start=1)
            ]),
            "lm_scores", "The probability of each piece of the text, given all those before it; the numbers are below.",
            sentence=" · ".join(f"Text {number}: {score.text}" for number, score in enumerate(scores, start=1)),
        )
    table = score_table(scores)
    st.dataframe(table, hide_index=True)
    st.caption(
        "The probability of a text is the product of all its pieces’ probabilities, each given the pieces before; "
        "that it ends there is not counted. Every further piece makes it smaller, so texts of different lengths are "
        "compared by their perplexity, the lower the better expected, or by bits per byte."
    )
    for number, score in enumerate(scores, start=1):
        with st.expander(f"Piece by piece: text {number}"):
            pieces = piece_table(labels[number - 1], score.log_probs)
            st.dataframe(pieces, hide_index=True)
            facts = {"text": score.text, "model": loaded.version}
            numbers = json_text(facts, {"pieces": pieces})
            save_buttons("text-probability", csv_text(pieces, facts), numbers, f"lm_{number}")


def _read(name: str, typed: str) -> None:
    session.update(LanguageModelParams, **{name: valid(typed)})


def _score(loaded: LoadedLanguageModel, text: str) -> TextScore | None:
    """The score of a text; None, after one message, where it cannot be read."""
    try:
        return language_runs.trace_text(loaded, text)[0]
    except AtlasError as error:
        st.warning(markdown(str(error)), icon=":material/edit:")
        return None


def verdict(scores: list[TextScore]) -> tuple[str, str]:
    """Markdown, two sentences: how likely the text is, or which of two is likelier; and the numbers that say so."""
    if len(scores) == 1:
        (score,) = scores
        return (
            f"To this model **{markdown(score.text)}** has the probability {power_of_ten(score.log_prob)}.",
            f"That is {score.log_prob:.2f} nats: a perplexity of {score.perplexity:.1f} pieces.",
        )
    first, second = scores
    gap = first.log_prob - second.log_prob
    if abs(gap) < 0.005:
        return "The model finds both texts equally likely.", f"Each has the log-probability {first.log_prob:.2f} nats."
    likelier, other = (first, second) if gap > 0 else (second, first)
    times = f"{math.exp(abs(gap)):,.1f}" if abs(gap) < 7 else power_of_ten(abs(gap))
    return (
        f"To this model **{markdown(likelier.text)}** is {times} times as likely as **{markdown(other.text)}**"
        + ("" if other.text.rstrip().endswith((".", "!", "?", "…")) else "."),
        f"The log-probabilities are {likelier.log_prob:.2f} and {other.log_prob:.2f} nats, the perplexities "
        f"{likelier.perplexity:.1f} and {other.perplexity:.1f} pieces.",
    )


def score_table(scores: list[TextScore]) -> pd.DataFrame:
    """A row a text."""
    return pd.DataFrame({
        "text": [score.text for score in scores], "pieces": [len(score.pieces) for score in scores],
        "probability": [power_of_ten(score.log_prob) for score in scores],
        "log-probability (nats)": [f"{score.log_prob:.4f}" for score in scores],
        "perplexity (pieces)": [f"{score.perplexity:.2f}" for score in scores],
        "bits per byte": [f"{score.bits_per_byte:.3f}" for score in scores],
    })


def power_of_ten(log: float) -> str:
    """A number, given as its natural logarithm, that may be too small or too large for a float."""
    exponent = math.floor(log / math.log(10))
    digits = f"{math.exp(log - exponent * math.log(10)):.1f}"
    if digits == "10.0":
        digits, exponent = "1.0", exponent + 1
    return f"{digits} · 10{str(exponent).translate(SUPERSCRIPT)}"
