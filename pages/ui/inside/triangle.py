"""The mask: its triangle, what it does to scores, and what happens without it."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.choice import Choice
from pages.ui.figures import matrix
from pages.ui.inside.inspection import Inspection
from pages.ui.inside.selection import choose_head
from pages.ui.labels import column_labels, row_labels, titles
from pages.ui.numbers import frame, numbered, show_numbers, show_table
from pages.ui.sentence import Reading
from transformer.analysis.softmax import softmax
from transformer.analysis.view import axes_of
from transformer.options import RunOptions
from transformer.trace import Trace

UNMASKED = RunOptions(decoder_mask=False)
WEIGHTS = alt.Scale(domain=[0, 1], scheme="viridis")


def show_mask(reading: Reading) -> None:
    """The triangle, the scores of the chosen head around it, and the run without it."""
    shape, words = st.columns([4, 5], gap="large")
    with shape:
        st.number_input("Length of the triangle", width=200, **state.bounded(Inspection, "length"))
        _triangle(state.own(Inspection).length)
    words.subheader("Why minus infinity?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = choose_head(reading.trace, "decoder", Inspection.PREFIX)
    masked, open_ = reading.detailed(), reading.detailed(UNMASKED)
    words.markdown(_why(masked.details["decoder_scores"][choice.layer, choice.head], masked.decoder_mask))
    _maps(masked, open_, choice)
    st.subheader("What leaks when the mask is switched off", anchor=False)
    st.markdown(_what_leaked(masked, open_, choice.layer, choice.head))
    show_table(leak_table(masked, open_, choice.layer, choice.head), "inside_leaks", digits=4)


def _triangle(length: int) -> None:
    labels = [str(number) for number in range(1, length + 1)]
    values = np.tril(np.ones((length, length)))
    st.altair_chart(
        matrix(
            np.zeros_like(values), labels, labels, name="added to the score", mask=values > 0,
            scale=alt.Scale(domain=[0, 1], range=["#3b6fe0", "#3b6fe0"]), titles=("step that looks", "piece looked at"),
            legend=False,
        ),
        key="inside_triangle", width="stretch",
        alt=f"A triangle of {length} rows: row i may look at the first i columns, the others are masked.",
    )
    st.caption("Blue: 0 is added to the score. Grey: −∞ is added, which masks it.")
    show_numbers(
        frame(np.where(values > 0, 0.0, -np.inf), labels, labels, corner="step that looks"), "inside_triangle_numbers",
        label="The triangle as numbers",
    )


def _why(scores: np.ndarray, mask: np.ndarray) -> str:
    """Markdown, from the scores of the chosen head."""
    # A score of 0 is what multiplying with the mask would leave.
    leaked = softmax(np.where(mask, scores, 0.0))
    share = np.where(mask, 0.0, leaked).sum(axis=-1)
    row = int(share.argmax())
    return (
        "The softmax turns a score s into exp(s) over the sum of its row. Only one number gives exactly nothing: "
        "exp(−∞) = 0. A score of 0 would not do, because exp(0) = 1, as much as any middling score has.\n\n"
        f"In the head chosen below, with 0 in place of −∞, row {row + 1} would still put **{share[row]:.1%}** of its "
        "attention on the future; with −∞ it puts exactly 0 there. The mask is added *before* the softmax: setting "
        "weights to 0 after it would leave rows that no longer sum to 1."
    )


def _maps(masked: Trace, open_: Trace, choice: Choice) -> None:
    """Scores before and after the mask, weights with it and without it, all of one head."""
    at = choice.layer, choice.head
    axes = axes_of(masked, "decoder")
    rows, columns, mask = row_labels(axes), column_labels(axes), masked.decoder_mask
    scores = masked.details["decoder_scores"][at]
    most = float(np.abs(scores).max()) or 1.0
    signed = alt.Scale(domain=[-most, 0, most], scheme="blueorange")
    maps = (
        ("1. Scaled scores, before the mask", scores, "score", signed, None),
        ("2. After the mask", scores, "score", signed, mask),
        ("3. Weights, after the softmax", masked.decoder[at], "weight", WEIGHTS, mask),
        ("4. Weights of a run with the mask switched off", open_.decoder[at], "weight", WEIGHTS, None),
    )
    places = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, (title, values, name, scale, hidden)) in enumerate(zip(places, maps, strict=True)):
        with place:
            st.markdown(f"**{title}**")
            st.altair_chart(
                matrix(values, rows, columns, name=name, scale=scale, titles=titles(False), mask=hidden),
                key=f"inside_mask_{number}", width="stretch", alt=f"{title}: layer {at[0] + 1}, head {at[1] + 1}.",
            )
            show_numbers(
                frame(values if hidden is None else np.where(hidden, values, -np.inf), rows, columns, corner="from"),
                f"inside_mask_numbers_{number}",
            )


def future_share(trace: Trace, mask: np.ndarray) -> np.ndarray:
    """How much of each row lies on what the mask would hide, [L, H, T]."""
    return np.where(mask, 0.0, trace.decoder).sum(axis=-1)


def leak_table(masked: Trace, open_: Trace, layer: int, head: int) -> pd.DataFrame:
    """A row a step: the share of the chosen head that leaks, and the log-probability with and without the mask."""
    return pd.DataFrame({
        "step": numbered(row_labels(axes_of(masked, "decoder"))),
        "on the future": future_share(open_, masked.decoder_mask)[layer, head],
        "log-prob. with mask": masked.log_probs.astype(float),
        "without": open_.log_probs.astype(float),
    })


def _what_leaked(masked: Trace, open_: Trace, layer: int, head: int) -> str:
    """Markdown, from the numbers shown."""
    shares = future_share(open_, masked.decoder_mask)
    before, after = float(masked.log_probs.sum()), float(open_.log_probs.sum())
    most = np.unravel_index(shares.mean(axis=-1).argmax(), shares.shape[:2])
    change = (
        f"falls from {before:.2f} to **{after:.2f}** nats: this model was trained with the mask, and what it sees "
        "there only disturbs it" if after < before
        else f"rises from {before:.2f} to **{after:.2f}** nats: it sees some of what it should predict"
    )
    return (
        f"The same sentence and the same translation, read in one run without the mask: on average "
        f"**{shares[layer, head].mean():.1%}** of a row of this head now lies on pieces that come later, and "
        f"{shares[most].mean():.1%} in layer {most[0] + 1}, head {most[1] + 1}, where most leaks. The log-probability "
        f"of the translation {change}. A model *trained* without the mask would learn to copy the next piece from "
        "there, and know nothing when it has to write by itself."
    )
