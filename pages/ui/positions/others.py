"""Other ways to tell a model what comes first, on the same axes: learned positions, linear biases, none."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.figures import AXIS, LEGEND
from pages.ui.heatmap import colours_of, heatmap
from pages.ui.numbers import frame, show_numbers
from pages.ui.positions.encoding import Encoding
from transformer.analysis.linear_biases import biases, slopes
from transformer.analysis.positions import by_offset, dot_products, sinusoids
from transformer.config import TransformerConfig
from transformer.weights import Weights

# Of the linear biases' heads, the one with the steepest slope.
SHOWN_HEAD = 0
LEARNED = "source_positions.table"


def show_others(config: TransformerConfig, weights: Weights) -> None:
    """A map each, with the same rows and columns, then all by offset."""
    encoding = state.own(Encoding)
    st.number_input("Positions", width=200, **state.bounded(Encoding, "span"))
    span = encoding.span
    st.markdown(
        "What each way alone says about a pair of positions, before anything is known of the words. Rows and columns "
        "are the same in all maps; the units are not, so each has colours of its own."
    )
    learned = learned_products(config, weights, span)
    ways = {
        "Sinusoids": (dot_products(sinusoids(span, config.d_model // 2 * 2)), "dot product"),
        "Learned": None if learned is None else (learned, "dot product"),
        f"Linear biases (ALiBi), head {SHOWN_HEAD + 1} of {config.heads}": (
            biases(config.heads, span)[SHOWN_HEAD], "added to the score"
        ),
        "None": (np.zeros((span, span)), "added to the score"),
    }
    places = [*st.columns(2, gap="medium"), *st.columns(2, gap="medium")]
    for number, (place, (title, way)) in enumerate(zip(places, ways.items(), strict=True)):
        with place:
            st.markdown(f"**{title}**")
            if way is None:
                st.info(
                    f"There are none to show: the positions of this model are “{config.positions}”. Learned ones are a "
                    "table of parameters, a vector for every position up to a limit (Gehring et al. 2017); the paper "
                    "tried them too and found nearly the same scores (table 3, row E)."
                )
                continue
            values, name = way
            st.plotly_chart(
                heatmap(values, titles=("position", "other position"), name=name, colours=colours_of(values),
                        height=340),
                key=f"positions_other_{number}", alt=f"{title}: {span} by {span} positions.",
            )
            show_numbers(frame(values, None, None, corner="position"), f"positions_other_numbers_{number}")
    _by_offset(config, span, learned)


def learned_products(config: TransformerConfig, weights: Weights, span: int) -> np.ndarray | None:
    """Dot products of the encoder's learned positions, [P, P]; None if the model has none.

    Args:
        config, weights: of the model.
        span: number of positions P, or as many as the model has.
    """
    if config.positions != "learned":
        return None
    return dot_products(weights.arrays[LEARNED][:span].astype(np.float64))


def _by_offset(config: TransformerConfig, span: int, learned: np.ndarray | None) -> None:
    """Linear biases of every head and the dot products over the offset.

    Args:
        learned: of `learned_products`.
    """
    st.subheader("By the offset between two positions", anchor=False)
    sines, lines = st.columns(2, gap="medium")
    products = {"sinusoids": by_offset(dot_products(sinusoids(span, config.d_model // 2 * 2))).mean}
    if learned is not None:
        products["learned, mean"] = by_offset(learned).mean
    products["none"] = np.zeros(span)
    added = biases(config.heads, span)[:, 0]
    for place, title, table, value in (
        (sines, "Vectors, or none", pd.concat([
            pd.DataFrame({"offset": range(len(values)), "value": values, "way": way})
            for way, values in products.items()
        ]), "dot product"),
        (lines, f"Linear biases of {config.heads} heads", pd.DataFrame({
            "offset": np.tile(np.arange(span), config.heads), "value": added.ravel(),
            "way": np.repeat([f"head {head}" for head in range(1, config.heads + 1)], span),
        }), "added to the score"),
    ):
        with place:
            st.markdown(f"**{title}**")
            st.altair_chart(
                way_chart(table, value), key=f"positions_ways_{value}", width="stretch",
                alt=f"{title} over the offset, a line each; the table has the numbers.",
            )
            show_numbers(table.pivot(index="offset", columns="way", values="value").reset_index(),
                         f"positions_ways_numbers_{value}")
    show_numbers(
        pd.DataFrame({"head": range(1, config.heads + 1), "slope": slopes(config.heads)}), "positions_slopes",
        label="The slope of every head", digits=8,
    )
    st.caption(
        "Linear biases (Press et al. 2022) take slope times distance off every score, another slope for each head, and "
        "add nothing to the embeddings. They are shown in their symmetric form; masked self-attention has only the "
        "half that looks back. Without any positions a self-attention layer cannot tell “dog bites man” from “man "
        "bites dog”: the last part of this page shows it."
    )


def way_chart(table: pd.DataFrame, value: str) -> alt.Chart:
    """Lines over the offset.

    Args:
        table: columns offset, value, way.
        value: what the values are.
    """
    names = list(dict.fromkeys(table["way"]))
    return alt.Chart(table).mark_line().encode(
        x=alt.X("offset:Q", title="offset between the two positions", scale=alt.Scale(nice=False),
                axis=alt.Axis(grid=False, **AXIS)),
        y=alt.Y("value:Q", title=value, axis=alt.Axis(**AXIS)),
        color=alt.Color("way:N", sort=names, legend=alt.Legend(title=None, columns=4, **LEGEND)),
        tooltip=["way:N", "offset:Q", alt.Tooltip("value:Q", format=".4f", title=value)],
    ).properties(height=300)
