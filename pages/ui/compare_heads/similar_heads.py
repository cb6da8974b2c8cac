"""Scatter plot and dendrogram of one attention kind's heads. Heads with similar attention are close together."""

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.labels import TITLES, head_name
from pages.ui.charts.matrix import INK, labelled_axis
from pages.ui.compare_heads.head_scatter import head_scatter
from pages.ui.components.save_as import show_altair
from pages.ui.heads.head_picker import pick_head
from pages.ui.heads.head_reading import MapReading
from pages.ui.heads.kinds import open_button, show_heads_chart
from pages.ui.layout.roles import main_figure
from pages.ui.params.compare_heads import CompareParams
from pages.ui.text.glossary import explain
from pages.ui.text.markup import markdown
from transformer.analysis.heads.clustering import average_linkage, leaf_order
from transformer.analysis.heads.mds import classical_mds
from transformer.analysis.heads.similarity import head_distances
from transformer.values.trace import Kind


def show_similar_heads(reading: MapReading, kind: Kind) -> None:
    """Show a scatter plot and a dendrogram of one attention kind's heads. Clicking a point opens the head."""
    weights = reading.trace.attention(kind)
    layers, heads = weights.shape[:2]
    distances = head_distances(weights)
    plane = classical_mds(distances)
    st.markdown(
        "Two heads are close if their rows are alike: the distance between them is the mean Jensen-Shannon divergence "
        f"of their rows, from 0 to ln 2 = {np.log(2):.3f} nats. A plane can show only {plane.shown:.0%} of the "
        "variation in these distances, so heads that look close may still be far apart. The tree below uses the exact "
        "distances.",
        help=explain("Jensen-Shannon divergence", "nats"),
    )
    st.caption(
        "Click a point to open its head, or choose a head in the boxes below. Where points are close together, names "
        "are left out; hover over a point to see its name."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = pick_head(reading, kind, CompareParams.PREFIX)
        open_button(kind, choice.layer, choice.head, maps=reading.maps)
    with main_figure(
        f"**Similar heads are close together:** {markdown(reading.trace.text)}",
        f"{TITLES[kind]}: each point is a head, named layer.head",
    ):
        show_heads_chart(
            head_scatter(plane, layers, heads),
            kind,
            f"compare_plane_{kind}",
            "Every head as a point; similar heads are close together. The select boxes and the button above also open "
            "a head.",
            maps=reading.maps,
        )
    show_altair(
        dendrogram(average_linkage(distances), heads),
        key=f"compare_tree_{kind}",
        alt="A tree that joins the heads, the most similar ones first.",
    )
    closest = np.unravel_index(np.argmin(distances + np.eye(len(distances))), distances.shape)
    st.markdown(f"The two most similar heads here are {distances[closest]:.3f} nats apart:", help=explain("nats"))
    with st.container(horizontal=True):
        for number, index in enumerate(sorted(map(int, closest)), start=1):
            open_button(kind, *divmod(index, heads), name=f"alike_{number}", maps=reading.maps)


def branches(linkage: np.ndarray) -> pd.DataFrame:
    """Return the line segments of a dendrogram.

    Each merge takes three segments, which form a bracket that joins two branches at the height of their distance.

    Args:
        linkage: the merges, [N - 1, 4], as returned by `average_linkage`.

    Returns:
        Columns x, y, x2, y2; leaves are at x = 1 to N, in the order of `leaf_order`.
    """
    count = len(linkage) + 1
    at = {leaf: (float(place), 0.0) for place, leaf in enumerate(leaf_order(linkage), start=1)}
    lines = []
    for number, (first, second, height, _) in enumerate(linkage):
        (x1, y1), (x2, y2) = at[int(first)], at[int(second)]
        lines += [(x1, y1, x1, height), (x1, height, x2, height), (x2, y2, x2, height)]
        at[count + number] = ((x1 + x2) / 2, float(height))
    return pd.DataFrame(lines, columns=["x", "y", "x2", "y2"])


def dendrogram(linkage: np.ndarray, heads: int) -> alt.Chart:
    """Return a dendrogram of heads, with leaves labelled layer.head.

    Args:
        linkage: the merges, [N - 1, 4], as returned by `average_linkage`.
        heads: the number of heads per layer.
    """
    order = leaf_order(linkage)
    axis, names = labelled_axis("leaf_labels", [head_name(leaf, heads) for leaf in order], labelAngle=-90, grid=False)
    return (
        alt.Chart(branches(linkage))
        .mark_rule(color="currentColor")
        .encode(
            x=alt.X("x:Q", title="head (layer.head)", scale=alt.Scale(domain=[0.5, len(order) + 0.5]), axis=axis),
            x2="x2",
            y=alt.Y("y:Q", title="distance between joined groups, nats", axis=alt.Axis(grid=False, **INK)),
            y2="y2",
        )
        .add_params(names)
        .properties(height=260)
    )
