"""Which heads of a kind look at the same things: a plane and a tree."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from pages.ui import state
from pages.ui.compare.comparison import Comparison
from pages.ui.compare.plane import head_plane
from pages.ui.figures import INK, PICK
from pages.ui.links import open_head
from pages.ui.sentence import Reading
from transformer.analysis.clusters import average_linkage, leaf_order
from transformer.analysis.scaling import plane_of
from transformer.analysis.similarity import head_distances


def show_similar_heads(reading: Reading) -> None:
    """The plane and the dendrogram of one kind; a click leads to the head."""
    kind = state.own(Comparison).kind
    weights = reading.trace.attention(kind)
    layers, heads = weights.shape[:2]
    distances = head_distances(weights)
    plane = plane_of(distances)
    st.markdown(
        "Two heads are close if their rows are alike: the distance is the mean Jensen-Shannon divergence of their "
        f"rows, from 0 to ln 2 = {np.log(2):.3f} nats. The plane shows {plane.shown:.0%} of the spread, so what looks "
        "close there may still be apart; the tree below has the distances themselves."
    )
    picked = st.altair_chart(
        head_plane(plane, layers, heads), key=f"compare_plane_{kind}", width="stretch", on_select="rerun",
        selection_mode=PICK, alt="Every head as a point; heads that look alike are close together.",
    ).selection[PICK]
    if picked:
        open_head(kind, int(picked[0]["layer"]) - 1, int(picked[0]["head"]) - 1)
    else:
        st.caption("Click a point to open its head. Where points crowd, the name is left out: point there to read it.")
    st.altair_chart(
        dendrogram(average_linkage(distances), heads), key=f"compare_tree_{kind}", width="stretch",
        alt="Heads merged into a tree, the most alike first.",
    )
    closest = np.unravel_index(np.argmin(distances + np.eye(len(distances))), distances.shape)
    first, second = (f"layer {index // heads + 1}, head {index % heads + 1}" for index in sorted(closest))
    st.markdown(f"The two heads most alike here: **{first}** and **{second}**, {distances[closest]:.3f} nats apart.")


def branches(linkage: np.ndarray) -> pd.DataFrame:
    """The lines of a dendrogram: each merge a bracket from its two branches up to its height.

    Args:
        linkage: [N - 1, 4], as `average_linkage` returns it.

    Returns:
        Columns x, y, x2, y2; leaves stand at 0 to N - 1 in the order of `leaf_order`.
    """
    count = len(linkage) + 1
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(leaf_order(linkage))}
    lines = []
    for number, (first, second, height, _) in enumerate(linkage):
        (x1, y1), (x2, y2) = at[int(first)], at[int(second)]
        lines += [(x1, y1, x1, height), (x1, height, x2, height), (x2, y2, x2, height)]
        at[count + number] = ((x1 + x2) / 2, float(height))
    return pd.DataFrame(lines, columns=["x", "y", "x2", "y2"])


def dendrogram(linkage: np.ndarray, heads: int) -> alt.Chart:
    """The tree, its leaves named layer.head."""
    order = leaf_order(linkage)
    names = [f"{leaf // heads + 1}.{leaf % heads + 1}" for leaf in order]
    named = f"{names}[datum.value]"
    return alt.Chart(branches(linkage)).mark_rule(color="currentColor").encode(
        x=alt.X(
            "x:Q", title="layer.head", scale=alt.Scale(domain=[-0.5, len(order) - 0.5]),
            axis=alt.Axis(
                values=list(range(len(order))), labelExpr=named, labelAngle=-90, labelOverlap=False, grid=False, **INK
            ),
        ),
        x2="x2",
        y=alt.Y("y:Q", title="distance, nats", axis=alt.Axis(grid=False, **INK)),
        y2="y2",
    ).properties(height=260)
