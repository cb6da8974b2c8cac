"""Scatter plot of heads, with names where there is room."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from attention_atlas.browser.labels import head_name
from attention_atlas.browser.palette import shades
from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import INK, PICK
from transformer.analysis.heads.mds import Plane

HEIGHT = 520
# Plot width in pixels on a narrow projector screen. On wider screens, names are at least as far apart.
MIN_PLOT_WIDTH = 640
RADIUS = 8
# Half the width and half the height in pixels of a name such as "3.7".
HALF_LABEL_SIZE = np.array([11.0, 6.0])
# Possible offsets of a name's centre from the point's centre, in pixels, y downwards. The first free one is used.
LABEL_OFFSETS = {"above": (0, -16), "below": (0, 16), "right": (21, 0), "left": (-21, 0)}


def head_scatter(plane: Plane, layers: int, heads: int) -> alt.LayerChart:
    """Return a scatter plot of the heads, coloured by layer.

    Clicking a head sets the selection `PICK`, with 1-based fields `layer` and `head`. Both axes have the same scale, so
    distances on screen are true.

    Args:
        plane: the heads' coordinates in the plane.
        layers: the number of layers.
        heads: the number of heads per layer.
    """
    numbers = np.arange(layers * heads)
    # Add a margin, and keep the extent positive, because all heads may lie at the same point.
    across, upwards = np.maximum(2.2 * np.abs(plane.points).max(axis=0), 1e-9)
    scale = min(MIN_PLOT_WIDTH / across, HEIGHT / upwards)
    table = pd.DataFrame(
        {
            "x": plane.points[:, 0],
            "y": plane.points[:, 1],
            "layer": numbers // heads + 1,
            "head": numbers % heads + 1,
            "name": [head_name(number, heads) for number in numbers.tolist()],
            "place": name_places(plane.points * (scale, -scale)),
        }
    )
    # The chart's width is known only in the browser, so use an expression for the size of a pixel.
    pixel = f"max({across} / width, {upwards} / height)"

    def axis(side: str) -> dict[str, Any]:
        end = f"{pixel} * {side} / 2"
        domain = alt.Scale(domainMin=alt.expr(f"-{end}"), domainMax=alt.expr(end), nice=False)
        return {"title": "distance in the plane, nats", "scale": domain, "axis": alt.Axis(grid=False, **INK)}

    base = alt.Chart(table).encode(x=alt.X("x:Q", **axis("width")), y=alt.Y("y:Q", **axis("height")))
    # Points need an outline: the colours of the first layers are as dark as the dark theme, and those of the last as
    # bright as the light theme.
    outline = {"stroke": "currentColor", "strokeWidth": 1}
    legend = alt.Legend(title="layer", symbolStrokeColor="currentColor", symbolStrokeWidth=1, **INK)
    points = (
        base.mark_circle(size=np.pi * RADIUS**2, opacity=1, cursor="pointer", **outline)
        .encode(
            color=alt.Color("layer:O", scale=alt.Scale(range=shades(layers)), legend=legend),
            tooltip=["layer:O", "head:O"],
        )
        .add_params(alt.selection_point(name=PICK, fields=["layer", "head"], toggle=False))
    )
    # Skip unused offsets, because Vega warns about a layer without data.
    names = [
        base.mark_text(dx=right, dy=down, fontSize=11, color="currentColor")
        .encode(text="name:N")
        .transform_filter(f"datum.place === '{place}'")
        for place, (right, down) in LABEL_OFFSETS.items()
        if place in set(table.place)
    ]
    return layer_charts(points, *names, height=HEIGHT)


def name_places(points: np.ndarray) -> list[str]:
    """Return, for each point, the key in PLACES where its name covers no point and no other name; "" if there is none.

    Args:
        points: [N, 2], in pixels, y downwards.
    """
    places, names = [], np.empty((0, 2))
    for point in points:
        free = (
            (place, point + step)
            for place, step in LABEL_OFFSETS.items()
            if not (np.abs(points - point - step) < HALF_LABEL_SIZE + RADIUS).all(axis=1).any()
            and not (np.abs(names - point - step) < 2 * HALF_LABEL_SIZE).all(axis=1).any()
        )
        place, middle = next(free, ("", point))
        places.append(place)
        if place:
            names = np.vstack([names, middle])
    return places
