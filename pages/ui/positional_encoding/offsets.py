"""Figures about pairs of positions: a map of all pairs, and a line chart of values against their offset."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from pages.ui.charts.heatmap import colours_of, heatmap
from pages.ui.charts.matrix import AXIS
from pages.ui.components.save_as import show_plotly


def show_pairs(values: np.ndarray, name: str, *, key: str, description: str, height: int) -> None:
    """Show a map with one value for every pair of positions.

    Args:
        values: [P, P].
        name: what the values are, such as "dot product".
        key: the key of the figure on the page.
        description: the text alternative of the figure.
        height: the height in pixels.
    """
    titles = "position", "other position"
    show_plotly(
        heatmap(values, titles=titles, name=name, colours=colours_of(values), first=(1, 1), height=height),
        key=key,
        alt=description,
        sentence="",
    )


def over_offset(lines: alt.Chart, name: str, height: int, tooltip: Sequence[str] = (), *, zero: bool) -> alt.Chart:
    """Return a line chart of the column "value" against the column "offset".

    Args:
        lines: the chart, without axes or a tooltip.
        name: the title of the vertical axis.
        height: the height in pixels.
        tooltip: columns to show in the tooltip in addition to offset and value.
        zero: whether the vertical axis always includes 0.
    """
    axis = alt.Axis(grid=False, **AXIS)
    return lines.encode(
        x=alt.X("offset:Q", title="offset between the two positions", scale=alt.Scale(nice=False), axis=axis),
        y=alt.Y("value:Q", title=name, scale=alt.Scale(zero=zero), axis=alt.Axis(**AXIS)),
        tooltip=[*tooltip, "offset:Q", alt.Tooltip("value:Q", format=".4f", title=name)],
    ).properties(height=height)
