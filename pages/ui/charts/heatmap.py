"""Pure functions that draw Plotly heatmaps of large arrays.

Plotly renders thousands of cells as one image. For a few hundred cells, use `pages.ui.charts.matrix`.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pages.ui.charts.matrix import label_positions
from pages.ui.charts.palette import DIVERGING, MASKED, VIRIDIS, colorscale

SIGNED, POSITIVE, SHARE = "signed", "positive", "share"
LONGEST_LABEL = 32
# Height in pixels of the space above a figure for Plotly's toolbar.
TOOLBAR_HEIGHT = 34
# Sizes in pixels. MARGIN is the height of the titles, labels and toolbar around a map. SQUARE_MARGIN is the width of
# the labels and colour bar beside a square map. MAX_WIDTH is the maximum width of a figure on a projector.
MARGIN, SQUARE_MARGIN, MAX_WIDTH = 136, 320, 860


def heatmap(
    values: np.ndarray,
    *,
    titles: tuple[str, str],
    name: str,
    colours: str = SIGNED,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    first: tuple[int, int] = (0, 0),
    height: int | None = None,
    square: bool = False,
) -> go.Figure:
    """Return a matrix as a heatmap, with row 0 at the top.

    Args:
        values: the matrix, [R, C]; non-finite values are shown as masked.
        titles: the axis titles of the rows and the columns.
        name: what the values are, for the colour bar and the tooltip.
        colours: the colour scale: SIGNED is centred on 0, POSITIVE starts at 0, SHARE runs from 0 to 1.
        rows, columns: the labels; None to number the rows or columns.
        first: the numbers of the first row and the first column; ignored for an axis with labels.
        height: the height in pixels; None to derive the height from the number of rows.
        square: whether cells are square.
    """
    is_visible = np.isfinite(values)
    values = np.where(is_visible, values, np.nan).astype(np.float32)
    most = float(np.abs(values[is_visible]).max(initial=0.0)) or 1.0
    scale = {
        SIGNED: {"colorscale": colorscale(DIVERGING), "zmin": -most, "zmax": most},
        POSITIVE: {"colorscale": colorscale(VIRIDIS), "zmin": 0.0, "zmax": most},
        SHARE: {"colorscale": colorscale(VIRIDIS), "zmin": 0.0, "zmax": 1.0},
    }[colours]
    top, left = (1 if labels is not None else number for labels, number in zip((rows, columns), first, strict=True))
    figure = go.Figure(
        go.Heatmap(
            z=values,
            y0=top,
            x0=left,
            colorbar={"title": {"text": name, "side": "right"}, "thickness": 12},
            hovertemplate=_hover(titles, name, "%{z:.4f}"),
            hoverongaps=False,
            **scale,
        )
    )
    if not is_visible.all():
        # The first heatmap leaves masked cells empty, and a second heatmap fills them.
        figure.add_heatmap(
            z=np.where(is_visible, np.nan, 0.0).astype(np.float32),
            y0=top,
            x0=left,
            colorscale=[[0, MASKED], [1, MASKED]],
            showscale=False,
            hovertemplate=_hover(titles, name, "masked"),
            hoverongaps=False,
        )
    side = max(120, min(420, (30 if square else 20) * len(values)))
    figure.update_layout(height=height or MARGIN + side, margin={"l": 0, "r": 0, "t": TOOLBAR_HEIGHT, "b": 0})
    rows_shown = [top + values.shape[0] - 0.5, top - 0.5]
    columns_shown = [left - 0.5, left + values.shape[1] - 0.5]
    figure.update_yaxes(range=rows_shown, title=titles[0], showgrid=False, zeroline=False, **_ticks(rows))
    figure.update_xaxes(range=columns_shown, title=titles[1], showgrid=False, zeroline=False, **_ticks(columns))
    if square:
        # Shrink the axes to the size of the map; otherwise they would extend beyond it.
        figure.update_yaxes(scaleanchor="x", constrain="domain", constraintoward="top")
        figure.update_xaxes(constrain="domain", constraintoward="left")
        figure.update_layout(width=min(MAX_WIDTH, SQUARE_MARGIN + side * values.shape[1] / len(values)))
    return figure


def colours_of(values: np.ndarray) -> str:
    """Return the colour scale for values: POSITIVE if none is negative and at least one is positive, else SIGNED."""
    visible_values = values[np.isfinite(values)]
    return POSITIVE if visible_values.min(initial=0.0) >= 0 and visible_values.any() else SIGNED


def _hover(titles: tuple[str, str], name: str, value: str) -> str:
    return f"{titles[0]} %{{y}}<br>{titles[1]} %{{x}}<br>{name} {value}<extra></extra>"


def _ticks(labels: Sequence[str] | None) -> dict[str, Any]:
    if labels is None:
        return {}
    at = label_positions(labels)
    return {"tickvals": at, "ticktext": [plotly_label(labels[position - 1]) for position in at]}


def plotly_label(label: str) -> str:
    """Truncate a label to LONGEST_LABEL characters, and escape markup that Plotly would parse."""
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    # Plotly typesets text between dollar signs as a formula if MathJax is loaded.
    return html.escape(short, quote=False).replace("$", "&#36;")
