"""One word followed through the layers: where it looks in each."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.compare.comparison import Comparison
from pages.ui.figures import matrix
from pages.ui.labels import column_labels, row_labels
from pages.ui.numbers import numbered, show_numbers
from pages.ui.sentence import Reading
from transformer.analysis.view import view_of


def show_across_layers(reading: Reading) -> None:
    """Three maps of one row: for the chosen head, the mean of all heads, and the largest of them."""
    comparison, choice = state.own(Comparison), state.choice().within(*reading.trace.attention("encoder").shape[:2])
    view = view_of(reading.trace, comparison.kind, words=choice.words, special=not choice.hide)
    labels = row_labels(view.axes)
    row = min(comparison.row, len(labels) - 1)
    if row != comparison.row:
        state.keep(Comparison, row=row)
        state.rewrite_address()
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
    mask = np.broadcast_to(view.mask[row], rows[:, 0].shape)
    largest = (rows.argmax(axis=1) + 1).astype(str)
    maps = {
        f"Head {choice.head + 1} of every layer": (rows[:, choice.head], None),
        "Mean of all heads of a layer": (rows.mean(axis=1), None),
        "Largest of all heads of a layer": (rows.max(axis=1), ("of head", largest)),
    }
    layers = [f"layer {layer}" for layer in range(1, view.layers + 1)]
    columns = column_labels(view.axes)
    for place, (title, (values, marks)) in zip(st.columns(3, gap="medium"), maps.items(), strict=True):
        with place:
            st.markdown(f"**{title}**")
            st.altair_chart(
                matrix(
                    values, layers, columns, name="weight", scale=alt.Scale(domain=[0, 1], scheme="viridis"), mask=mask,
                    marks=marks,
                ),
                key=f"compare_layers_{title.split()[0]}", width="stretch",
                alt=f"{title}: a row a layer, a column for everything looked at; the table below has the numbers.",
            )
    st.caption(
        "The first two have rows that sum to 1. Those of the third do not: each of its cells belongs to whichever head "
        "looks there most, and the number in it says which head that is."
    )
    show_numbers(_table(maps, largest, mask, columns), "compare_layers_numbers", digits=4)


def _table(
    maps: dict[str, tuple[np.ndarray, object]], largest: np.ndarray, mask: np.ndarray, columns: list[str]
) -> pd.DataFrame:
    """All that the maps show, a row a cell that is not masked."""
    layers, places = np.nonzero(mask)
    return pd.DataFrame({
        "layer": layers + 1, "to": np.array(numbered(columns), dtype=object)[places],
        **{title: values[mask].astype(float) for title, (values, _) in maps.items()},
        "largest is head": largest[mask],
    })
