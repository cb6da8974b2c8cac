"""Large arrays as heatmaps. Pure: numbers in, a figure out.

Plotly, because it draws a map of thousands of cells as one picture; maps of a few hundred are `pages.ui.figures`'.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from pages.ui.figures import MASKED, MOST_LABELS

SIGNED, POSITIVE, SHARE = "signed", "positive", "share"
LONGEST_LABEL = 32
# Pixels above a figure that Plotly's tools have for themselves, so that they cover nothing.
TOOLS = 34


def heatmap(
    values: np.ndarray, *, titles: tuple[str, str], name: str, colours: str = SIGNED,
    rows: Sequence[str] | None = None, columns: Sequence[str] | None = None, height: int | None = None,
) -> go.Figure:
    """A matrix as a heatmap; row 0 is on top.

    Args:
        values: [R, C]; what is not finite is masked.
        titles: of the rows and of the columns.
        name: of the values.
        colours: SIGNED has 0 in the middle, POSITIVE goes from 0 to the largest value, SHARE from 0 to 1.
        rows, columns: labels; None numbers them from 0.
        height: in pixels; None takes what so many rows need.
    """
    seen = np.isfinite(values)
    values = np.where(seen, values, np.nan).astype(np.float32)
    most = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    scale = {
        SIGNED: {"colorscale": "RdBu_r", "zmin": -most, "zmax": most},
        POSITIVE: {"colorscale": "Viridis", "zmin": 0.0, "zmax": most},
        SHARE: {"colorscale": "Viridis", "zmin": 0.0, "zmax": 1.0},
    }[colours]
    figure = go.Figure(go.Heatmap(
        z=values, colorbar={"title": {"text": name, "side": "right"}, "thickness": 12},
        hovertemplate=_hover(titles, name, "%{z:.4f}"), hoverongaps=False, **scale,
    ))
    if not seen.all():
        # A masked cell is a hole in the map, filled by a map of its own.
        figure.add_heatmap(
            z=np.where(seen, np.nan, 0.0).astype(np.float32), colorscale=[[0, MASKED], [1, MASKED]], showscale=False,
            hovertemplate=_hover(titles, name, "masked"), hoverongaps=False,
        )
    figure.update_layout(
        height=height or 136 + max(120, min(420, 20 * len(values))), margin={"l": 0, "r": 0, "t": TOOLS, "b": 0},
    )
    last_row, last_column = values.shape[0] - 0.5, values.shape[1] - 0.5
    figure.update_yaxes(range=[last_row, -0.5], title=titles[0], showgrid=False, zeroline=False, **_ticks(rows))
    figure.update_xaxes(range=[-0.5, last_column], title=titles[1], showgrid=False, zeroline=False, **_ticks(columns))
    return figure


def colours_of(values: np.ndarray) -> str:
    """POSITIVE where nothing is negative but something is not 0, else SIGNED."""
    seen = values[np.isfinite(values)]
    return POSITIVE if seen.min(initial=0.0) >= 0 and seen.any() else SIGNED


def _hover(titles: tuple[str, str], name: str, value: str) -> str:
    return f"{titles[0]} %{{y}}<br>{titles[1]} %{{x}}<br>{name} {value}<extra></extra>"


def _ticks(labels: Sequence[str] | None) -> dict[str, object]:
    if labels is None:
        return {}
    at = range(0, len(labels), -(-len(labels) // MOST_LABELS))
    return {"tickvals": list(at), "ticktext": [shown(labels[index]) for index in at]}


def shown(label: str) -> str:
    """A label as Plotly shows it itself: it takes some markup for what it says, and has no limit on length."""
    short = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
    return html.escape(short, quote=False)
