"""One word followed through the layers: where it looks in each."""

from __future__ import annotations

import altair as alt
import streamlit as st

from pages.ui import state
from pages.ui.compare.comparison import Comparison
from pages.ui.figures import matrix
from pages.ui.labels import column_labels, row_labels
from pages.ui.sentence import Reading
from transformer.analysis.view import view_of


def show_across_layers(reading: Reading) -> None:
    """Three maps of one row: for the chosen head, the mean of all heads, and the largest of them."""
    comparison, choice = state.own(Comparison), state.choice().within(*reading.trace.attention("encoder").shape[:2])
    view = view_of(reading.trace, comparison.kind, words=choice.words, special=not choice.hide)
    labels = row_labels(view.axes)
    row = min(comparison.row, len(labels) - 1)
    place, pick_head, pick_words = st.columns([4, 2, 2], vertical_alignment="bottom")
    place.selectbox(
        "Follow", range(len(labels)), key=state.hold("compare_row", row),
        format_func=lambda index: f"{index + 1}: {labels[index]}",
        on_change=lambda: state.keep(Comparison, row=st.session_state.compare_row),
    )
    pick_head.selectbox(
        "Head", range(view.heads), key=state.hold("compare_head", choice.head), format_func=lambda head: str(head + 1),
        on_change=lambda: state.change(head=st.session_state.compare_head),
    )
    pick_words.toggle(
        "Words", key=state.hold("compare_words", choice.words),
        on_change=lambda: state.change(words=st.session_state.compare_words),
    )
    rows = view.weights[:, :, row]
    maps = {
        f"Head {choice.head + 1} of every layer": rows[:, choice.head],
        "Mean of all heads of a layer": rows.mean(axis=1),
        "Largest of all heads of a layer": rows.max(axis=1),
    }
    layers = [f"layer {layer}" for layer in range(1, view.layers + 1)]
    for column, (title, values) in zip(st.columns(3, gap="medium"), maps.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            st.altair_chart(
                matrix(
                    values, layers, column_labels(view.axes), name="weight",
                    scale=alt.Scale(domain=[0, 1], scheme="viridis"),
                ),
                key=f"compare_layers_{title.split()[0]}", width="stretch",
                alt=f"{title}: a row a layer, a column for everything looked at.",
            )
    st.caption(
        "The first two have rows that sum to 1. Those of the third do not: each of its cells belongs to whichever head "
        "looks there most."
    )
