"""Masked self-attention, head by head, and what the mask does."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import streamlit as st  # noqa: E402

from pages.ui import state  # noqa: E402
from pages.ui.attention import attention_page  # noqa: E402
from pages.ui.labels import column_labels, row_labels  # noqa: E402
from pages.ui.maps import DIFFERENCE, Map, side_by_side  # noqa: E402
from pages.ui.payload import decimals  # noqa: E402
from transformer.analysis.view import axes_of  # noqa: E402

reading = attention_page(
    "decoder",
    "Every piece of the German sentence looks at itself and at those before it; the future is masked.",
)
choice = state.choice()
st.subheader("What the mask does", anchor=False)
st.markdown(
    f"Layer {choice.layer + 1}, head {choice.head + 1}: every query is multiplied with every key, those of the future "
    "too, and divided by the root of K; the mask sets the future's scores to minus infinity, so that the softmax makes "
    "them exactly 0. Without it, a step in training could simply read the piece that it should predict."
)
trace = reading.detailed()
scores = trace.details["decoder_scores"][choice.layer, choice.head]
axes = axes_of(trace, "decoder")
labels = row_labels(axes), column_labels(axes)
mask = trace.decoder_mask
side_by_side([
    Map("1. Scores, before the mask", *labels, scores, mask | True, scale=DIFFERENCE, measure="score"),
    Map("2. The mask: 1 where it lets look", *labels, mask, mask, measure="mask"),
    Map("3. Weights, after the softmax", *labels, decimals(trace.decoder[choice.layer, choice.head]), mask),
], "mask")
