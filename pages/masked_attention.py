"""Masked self-attention, head by head, and what the mask does."""

from __future__ import annotations

from pages.ui.router import ensure_router

ensure_router()

import altair as alt  # noqa: E402
import numpy as np  # noqa: E402
import streamlit as st  # noqa: E402

from pages.ui import state  # noqa: E402
from pages.ui.attention import attention_page  # noqa: E402
from pages.ui.figures import matrix  # noqa: E402
from pages.ui.labels import column_labels  # noqa: E402
from transformer.analysis.view import axes_of  # noqa: E402

reading = attention_page(
    "decoder",
    "Every piece of the German sentence looks at itself and at those before it; the future is masked.",
)
choice = state.choice()
st.subheader("What the mask does", anchor=False)
st.markdown(
    f"Layer {choice.layer + 1}, head {choice.head + 1}: every query is multiplied with every key, those of the future "
    "too; the mask sets the future's scores to minus infinity, so that the softmax makes them exactly 0. Without it, a "
    "step in training could simply read the piece that it should predict."
)
trace = reading.detailed()
scores = trace.details["decoder_scores"][choice.layer, choice.head]
labels = column_labels(axes_of(trace, "decoder"))
largest = float(np.abs(scores).max())
panels = {
    "1. Scores, before the mask": (scores, "score", alt.Scale(domain=[-largest, 0, largest], scheme="blueorange")),
    "2. The mask": (trace.decoder_mask, "may look", alt.Scale(domain=[0, 1], range=["#8b93a3", "#fde725"])),
    "3. Weights, after mask and softmax": (
        trace.decoder[choice.layer, choice.head], "weight", alt.Scale(domain=[0, 1], scheme="viridis")
    ),
}
for column, (title, (values, name, scale)) in zip(st.columns(3, gap="medium"), panels.items(), strict=True):
    with column:
        st.markdown(f"**{title}**")
        st.altair_chart(
            matrix(values, labels, labels, name=name, scale=scale), key=f"mask_{name}", width="stretch",
            alt=f"{title}, a row for every piece read, a column for every piece looked at.",
        )
