"""Pure functions that assign colours to series, and draw line charts of chosen and random removal orders."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import AXIS, LEGEND
from pages.ui.charts.palette import MASKED


def series_colour(column: str, colours: Mapping[str, str], *, title: str | None = None, **legend: Any) -> alt.Color:
    """Return the encoding that gives each series its colour, with a legend.

    Args:
        column: the column that names the series.
        colours: each series' colour, by name, in the order of the legend.
        title: the title of the legend.
        legend: further options for the legend.
    """
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{column}:N", scale=scale, legend=alt.Legend(title=title, **{**LEGEND, **legend}))


def against_random(
    table: pd.DataFrame, step: str, colours: Mapping[str, str], *, title: str, unit: str, point: bool = False
) -> alt.LayerChart:
    """Return a line chart that compares chosen orders of removing items with random orders.

    Each chosen order gets a line; a band shows the range of the random orders, and a dashed line their mean.

    Args:
        table: one row per order and step, with the columns order, value, and `step`.
        step: the name of the column that counts the removed items, for the horizontal axis.
        colours: the colour of each order that gets its own line, by name; all other orders are random.
        title, unit: the titles of the horizontal and the vertical axis.
        point: whether to mark each step on the lines.
    """
    named = table["order"].isin(list(colours))
    band = table.loc[~named].groupby(step)["value"].agg(["min", "mean", "max"]).reset_index()
    x = alt.X(f"{step}:Q", title=title, axis=alt.Axis(**{**AXIS, "tickMinStep": 1}))
    scale = alt.Scale(zero=False)
    shade = (
        alt.Chart(band)
        .mark_area(opacity=0.35, color=MASKED)
        .encode(x=x, y=alt.Y("min:Q", title=unit, scale=scale, axis=alt.Axis(tickCount=5, **AXIS)), y2="max:Q")
    )
    middle = alt.Chart(band).mark_line(strokeDash=[4, 4], color=MASKED).encode(x=x, y=alt.Y("mean:Q", title=unit))
    lines = (
        alt.Chart(table.loc[named])
        .mark_line(point=point, strokeWidth=2.5)
        .encode(
            x=x,
            y=alt.Y("value:Q", title=unit, scale=scale),
            color=series_colour("order", colours, title="grey: random orders", labelLimit=300, columns=1),
            tooltip=["order:N", f"{step}:Q", alt.Tooltip("value:Q", title=unit, format=".3f")],
        )
    )
    return layer_charts(shade, middle, lines, height=320)
