"""Enlarges charts to the size of the screen, with text that the last row of a lecture hall can read. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import altair as alt
import plotly.graph_objects as go

# Font size in pixels, equal to 20 points.
LARGE_TYPE = 27
# Font size in Altair charts, which assets/lecture/page.css enlarges by a third. Text that uses the theme's font size
# grows with the page.
VEGA_TYPE = 20.2
# LONGER is the factor by which labels may be longer than on the page, whose font is smaller. No label exceeds LONGEST
# pixels. No label above a map exceeds TOP pixels, so that the first row of the map is high on the screen.
LONGER, LONGEST, TOP = 1.6, 640, 88
TICKS = 6
PLOTLY_HEIGHT = 660
AltairChart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart
OneChart = TypeVar("OneChart", bound=AltairChart)


def enlarged(chart: OneChart) -> OneChart:
    """Return a copy of a chart with large type and without a fixed size."""
    chart = chart.copy(deep=True)
    parts = list(_schemas(chart))
    is_map = any(_on_top(part) for part in parts)
    for part in parts:
        if isinstance(part, alt.TopLevelMixin):
            for name in ("width", "height", "autosize"):
                if part._get(name) is not alt.Undefined:
                    part[name] = alt.Undefined
        elif isinstance(part, alt.X | alt.Y) and is_map:
            # Axis titles would push the map down and to the side. The headline explains the axes instead.
            part["title"] = None
        elif isinstance(part, alt.Axis):
            limit = part._get("labelLimit")
            known = isinstance(limit, int | float)
            part["labelLimit"] = (TOP if _on_top(part) else LONGER * limit) if known else LONGEST
            part["titlePadding"], part["titleLimit"], part["maxExtent"] = 4, LONGEST, LONGEST
            # The first numbers of two axes would overlap without padding; row and column names of a map do not.
            part["labelPadding"] = 2 if is_map else 9
            part["labelFontSize"] = alt.Undefined
            if part._get("tickCount") is alt.Undefined and part._get("values") is alt.Undefined:
                part["tickCount"] = TICKS
        elif isinstance(part, alt.Legend):
            part["labelLimit"] = part["titleLimit"] = LONGEST
            part["offset"], part["padding"], part["rowPadding"] = 2, 0, 0
            if part._get("columns") is not alt.Undefined:
                part["columns"] = min(part["columns"], 2)
        elif isinstance(part, alt.MarkDef) and part._get("type") == "text":
            part["fontSize"] = VEGA_TYPE
    return chart


def _on_top(part: alt.SchemaBase) -> bool:
    """Return whether a part of a chart is an axis above a map."""
    return isinstance(part, alt.Axis) and part._get("orient") == "top"


def _schemas(value: Any) -> Iterator[alt.SchemaBase]:
    """Yield every schema object in a part of a chart, including the part itself."""
    if isinstance(value, alt.SchemaBase):
        yield value
        value = list(value._kwds.values())
    if isinstance(value, list):
        for each in value:
            yield from _schemas(each)


def enlarged_plot(figure: go.Figure) -> go.Figure:
    """Return an enlarged copy of a Plotly figure, as `enlarged` does for Altair."""
    figure = go.Figure(figure)
    type_ = {"size": LARGE_TYPE}
    figure.update_layout(height=PLOTLY_HEIGHT, width=None, font=type_, legend={"font": type_})
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickfont=type_, title_font=type_)
    figure.update_traces(colorbar={"tickfont": type_, "title": {"font": type_}}, selector={"type": "heatmap"})
    return figure
