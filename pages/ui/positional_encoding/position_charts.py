"""Parts that the charts of positional encodings share."""

from __future__ import annotations

import altair as alt
import numpy as np
import plotly.graph_objects as go

from pages.ui.charts.heatmap import colours_of, heatmap
from pages.ui.charts.matrix import AXIS


def position_map(values: np.ndarray, name: str, *, height: int) -> go.Figure:
    """Return a heatmap of a value for every pair of positions, [P, P], whose colours depend on the values' signs."""
    return heatmap(
        values,
        titles=("position", "other position"),
        name=name,
        colours=colours_of(values),
        first=(1, 1),
        height=height,
    )


def offset_axis() -> alt.X:
    """Return the horizontal axis for a table's column offset."""
    return alt.X(
        "offset:Q",
        title="offset between the two positions",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(grid=False, **AXIS),
    )
