"""Pure functions that enlarge charts for lecture mode, so that text is legible from the back of a lecture hall."""

from collections.abc import Iterator
from typing import Any, TypeVar

import altair as alt
import plotly.graph_objects as go

# Font size in pixels of enlarged Plotly figures; 27 pixels are about 20 points.
LARGE_TYPE = 27
# Font size in pixels of enlarged Altair charts. assets/lecture/page.css then enlarges these charts by a third.
VEGA_TYPE = 20.2
# An enlarged axis label may be LABEL_FACTOR times as long as the chart's own limit. If the chart sets no limit, the
# label may be MAX_LABEL_LENGTH pixels long. Labels above a heat map are limited to MAX_TOP_LABEL pixels, so that its
# first row stays near the top of the screen.
LABEL_FACTOR, MAX_LABEL_LENGTH, MAX_TOP_LABEL = 1.6, 640, 88
TICKS = 6
PLOTLY_HEIGHT = 660
AltairChart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart
OneChart = TypeVar("OneChart", bound=AltairChart)


def enlarge(chart: OneChart) -> OneChart:
    """Return a copy of an Altair chart with a large font and no fixed size, for lecture mode."""
    chart = chart.copy(deep=True)
    parts = list(_schemas(chart))
    is_map = any(_on_top(part) for part in parts)
    for part in parts:
        if isinstance(part, alt.TopLevelMixin):
            for name in ("width", "height", "autosize"):
                if part._get(name) is not alt.Undefined:
                    part[name] = alt.Undefined
        elif isinstance(part, alt.X | alt.Y) and is_map:
            # Remove axis titles, which would take space from the map. In lecture mode, the headline explains the axes.
            part["title"] = None
        elif isinstance(part, alt.Axis):
            limit = part._get("labelLimit")
            known = isinstance(limit, int | float)
            part["labelLimit"] = (
                (MAX_TOP_LABEL if _on_top(part) else LABEL_FACTOR * limit) if known else MAX_LABEL_LENGTH
            )
            part["titlePadding"], part["titleLimit"], part["maxExtent"] = 4, MAX_LABEL_LENGTH, MAX_LABEL_LENGTH
            # With less padding, the first labels of the two axes would overlap, except in a map.
            part["labelPadding"] = 2 if is_map else 9
            part["labelFontSize"] = alt.Undefined
            if part._get("tickCount") is alt.Undefined and part._get("values") is alt.Undefined:
                part["tickCount"] = TICKS
        elif isinstance(part, alt.Legend):
            part["labelLimit"] = part["titleLimit"] = MAX_LABEL_LENGTH
            part["padding"], part["rowPadding"] = 0, 0
            if part._get("offset") is alt.Undefined:
                part["offset"] = 2
            if part._get("columns") is not alt.Undefined:
                # Keep 1 column, but replace any other value by 2. `min` would fail if the value is a Vega expression.
                part["columns"] = 1 if part["columns"] == 1 else 2
        elif isinstance(part, alt.MarkDef) and part._get("type") == "text":
            part["fontSize"] = VEGA_TYPE
    return chart


def _on_top(part: alt.SchemaBase) -> bool:
    """Return whether a chart element is an axis above the chart. Only maps have such an axis."""
    return isinstance(part, alt.Axis) and part._get("orient") == "top"


def _schemas(value: Any) -> Iterator[alt.SchemaBase]:
    """Yield all Altair schema objects in a value, at any depth."""
    if isinstance(value, alt.SchemaBase):
        yield value
        value = list(value._kwds.values())
    if isinstance(value, list):
        for each in value:
            yield from _schemas(each)


def enlarge_plot(figure: go.Figure) -> go.Figure:
    """Return a copy of a Plotly figure with a large font, for lecture mode."""
    figure = go.Figure(figure)
    type_ = {"size": LARGE_TYPE}
    figure.update_layout(height=PLOTLY_HEIGHT, width=None, font=type_, legend={"font": type_})
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickfont=type_, title_font=type_)
    figure.update_traces(colorbar={"tickfont": type_, "title": {"font": type_}}, selector={"type": "heatmap"})
    return figure
