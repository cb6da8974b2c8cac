"""Shows the decoder's mask: its triangular shape, its effect on attention scores, and what happens without it."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import column_labels, row_labels, titles
from pages.ui.charts.matrix import matrix
from pages.ui.charts.palette import FIRST, diverging, sequential
from pages.ui.charts.tables import frame, numbered_labels, show_numbers, show_table
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import HeadReading
from pages.ui.heads.kinds import HeadMaps, head_markdown_link
from pages.ui.layout.roles import main_figure
from pages.ui.params.attention import AttentionParams
from pages.ui.params.inside_a_layer import InsideParams
from pages.ui.state import session
from pages.ui.state.bind import bind_number
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import typeset
from transformer.analysis.view import axes_of
from transformer.backpropagation.softmax import softmax
from transformer.values.interventions import Interventions
from transformer.values.trace import Trace

UNMASKED = Interventions(decoder_mask=False)


def show_mask(reading: HeadReading) -> None:
    """Show the mask, one head's scores before and after masking, and what leaks in a model run without the mask."""
    shape, words = st.columns([4, 5], gap="large")
    with shape:
        _show_triangle(session.params(InsideParams).length)
    words.subheader("Why minus infinity?", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = pick_head(reading, "decoder", InsideParams.PREFIX)
    masked, open_ = reading.detailed(), reading.detailed(UNMASKED)
    words.markdown(_describe_mask(masked.detail("decoder", "scores")[choice.layer, choice.head], masked.decoder_mask))
    words.number_input("Size of the triangle", width=200, **bind_number(InsideParams, "length"))
    _show_maps(masked, open_, choice)
    st.subheader("What leaks when the mask is switched off", anchor=False)
    st.markdown(_describe_leak(masked, open_, choice, reading.maps), help=explain("mask", "log-probability", "nats"))
    show_table(leak_table(masked, open_, choice.layer, choice.head), "inside_leaks", digits=4)


def _show_triangle(length: int) -> None:
    labels = [str(number) for number in range(1, length + 1)]
    values = np.tril(np.ones((length, length)))
    show_altair(
        matrix(
            np.zeros_like(values),
            labels,
            labels,
            name="added to the score",
            mask=values > 0,
            scale=alt.Scale(domain=[0, 1], range=[FIRST, FIRST]),
            titles=("attending position", "attended position"),
            legend=False,
            square=True,
        ),
        key="inside_triangle",
        width="content",
        alt=f"A triangle of {length} rows: row i can attend to the first i columns; all other columns are masked.",
        sentence="",
    )
    st.caption("Blue: 0 is added, so the score does not change. Grey: −∞ is added, which masks the token.")
    show_numbers(
        frame(np.where(values > 0, 0.0, -np.inf), labels, labels, corner="attending position"),
        "inside_triangle_numbers",
        label="The triangle as numbers",
    )


def _describe_mask(scores: np.ndarray, mask: np.ndarray) -> str:
    """Return Markdown that uses one head's scores to explain why the mask adds minus infinity."""
    # For comparison, masked positions get a score of 0, as if the scores were multiplied by the mask.
    leaked = softmax(np.where(mask, scores, 0.0))
    share = np.where(mask, 0.0, leaked).sum(axis=-1)
    row = int(share.argmax())
    return (
        "The softmax turns a score s into exp(s), divided by the sum of the row's exponentials. Only a score of −∞ "
        "gives a weight of exactly 0, because exp(−∞) = 0. A score of 0 would not work, because exp(0) = 1."
        f"\n\nIn the head chosen below, with 0 in place of −∞, row {row + 1} would still put **{share[row]:.1%}** of "
        "its attention on later tokens. With −∞, it puts exactly 0 there. The mask is added *before* the softmax: "
        "setting weights to 0 afterwards would leave rows that no longer sum to 1."
    )


def _show_maps(masked: Trace, open_: Trace, choice: AttentionParams) -> None:
    """Show one head's scores before and after masking, and the weights with and without the mask."""
    at = choice.layer, choice.head
    axes = axes_of(masked, "decoder")
    rows, columns, mask = row_labels(axes), column_labels(axes), masked.decoder_mask
    scores = masked.detail("decoder", "scores")[at]
    most = float(np.abs(scores).max()) or 1.0
    signed, weights = diverging(most), sequential()
    maps = (
        ("1. Scaled scores, before the mask", scores, "score", signed, None),
        ("2. After the mask", scores, "score", signed, mask),
        ("3. Weights, after the softmax", masked.decoder[at], "weight", weights, mask),
        ("4. Weights, with the mask switched off", open_.decoder[at], "weight", weights, None),
    )
    places = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, (title, values, name, scale, hidden)) in enumerate(zip(places, maps, strict=True)):
        # The main figure is the map of the scores after masking.
        with (
            place,
            main_figure(
                f"**The mask, layer {at[0] + 1}, head {at[1] + 1}:** {markdown(masked.target_text)}",
                "Grey: minus infinity is added, so the weight becomes exactly 0; no step sees what comes later",
                when=number == 1,
            ),
        ):
            st.markdown(f"**{title}**")
            show_altair(
                matrix(values, rows, columns, name=name, scale=scale, titles=titles(False), mask=hidden, square=True),
                key=f"inside_mask_{number}",
                width="content",
                alt=f"{title}: layer {at[0] + 1}, head {at[1] + 1}.",
            )
            show_numbers(
                frame(values if hidden is None else np.where(hidden, values, -np.inf), rows, columns, corner="from"),
                f"inside_mask_numbers_{number}",
            )


def future_share(trace: Trace, mask: np.ndarray) -> np.ndarray:
    """Return how much of each row's attention is on positions that the mask would hide: fractions, [L, H, T]."""
    return np.where(mask, 0.0, trace.decoder).sum(axis=-1)


def leak_table(masked: Trace, open_: Trace, layer: int, head: int) -> pd.DataFrame:
    """Return a table with one row per decoder step.

    Columns: how much of the head's attention is on later tokens in the run without the mask, and the step's
    log-probability with and without the mask.
    """
    return pd.DataFrame(
        {
            "step": numbered_labels(row_labels(axes_of(masked, "decoder"))),
            "attention on later tokens": future_share(open_, masked.decoder_mask)[layer, head],
            "log-prob. with mask": masked.log_probs.astype(float),
            "without": open_.log_probs.astype(float),
        }
    )


def _describe_leak(masked: Trace, open_: Trace, choice: AttentionParams, maps: HeadMaps) -> str:
    shares = future_share(open_, masked.decoder_mask)
    before, after = float(masked.log_probs.sum()), float(open_.log_probs.sum())
    what, read = ("translation", "sentence and the same translation") if "cross" in masked.kinds else ("text", "text")
    here = shares[choice.layer, choice.head].mean()
    most = np.unravel_index(shares.mean(axis=-1).argmax(), shares.shape[:2])
    change = (
        f"falls from {typeset(before)} to **{typeset(after)}** nats: this model was trained with the mask, so seeing "
        "later tokens only confuses it"
        if after < before
        else f"rises from {typeset(before)} to **{typeset(after)}** nats: the model sees tokens that it has to predict"
    )
    return (
        f"The model reads the same {read} once more, without the mask. On average, a row of this head now puts "
        f"**{here:.1%}** of its attention on later tokens. In "
        f"{head_markdown_link('decoder', int(most[0]), int(most[1]), maps)}, which leaks most, the share is "
        f"{shares[most].mean():.1%}. The log-probability of the {what} {change}. A model *trained* without the mask "
        "would learn to copy the next token, and would be lost when it had to write by itself."
    )
