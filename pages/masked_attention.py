"""The masked self-attention page: an attention map for each head, and the effect of the mask."""

from pages.ui.shell.router import ensure_router

ensure_router()

import streamlit as st

from attention_atlas.browser.labels import column_labels, row_labels
from pages.ui.attention.page import attention_page
from pages.ui.components.side_by_side import ALLOWED, DIFFERENCE, Map, side_by_side
from pages.ui.text.number_format import rounded
from transformer.analysis.view import axes_of

reading = attention_page(
    "decoder", "Each {target} word looks back: [the mask](#mask) hides what the model must predict."
)
choice = reading.choice("decoder")
st.subheader("What the mask does", anchor="mask")
st.markdown(
    "Without the mask, a model in training could simply read the token that it has to predict.\n\n"
    f"In layer {choice.layer + 1}, head {choice.head + 1}, the product of every query with every key, including "
    "future ones, is divided by √K. The mask then sets the scores of future keys to minus infinity, so their weights "
    "after the softmax are exactly 0."
)
trace = reading.detailed()
scores = trace.detail("decoder", "scores")[choice.layer, choice.head]
axes = axes_of(trace, "decoder")
labels = row_labels(axes), column_labels(axes)
mask = trace.decoder_mask
side_by_side(
    [
        Map("1. Scores, before the mask", *labels, scores, mask | True, scale=DIFFERENCE, measure="score"),
        Map("2. The mask: where looking is allowed", *labels, mask, mask, scale=ALLOWED),
        Map("3. Weights, after the softmax", *labels, rounded(trace.decoder[choice.layer, choice.head]), mask),
    ],
    "mask",
)
