"""Scatter plot of heads, with labels where there is room."""

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
# Width of the plot in pixels on a narrow projector. Names that do not overlap there do not overlap on a wider screen.
MIN_PLOT_WIDTH = 640
RADIUS = 8
# Half the width and half the height in pixels of a point's name, such as "3.7".
HALF_LABEL_SIZE = np.array([11.0, 6.0])
# Offsets in pixels (y downwards) between the centres of a point and its name. The first one without overlap is used.
LABEL_OFFSETS = {"above": (0, -16), "below": (0, 16), "right": (21, 0), "left": (-21, 0)}


def head_scatter(plane: Plane, layers: int, heads: int) -> alt.LayerChart:
    """Return a scatter plot of the heads, coloured by layer, with equal scales on both axes.

    Clicking a point sets the selection `PICK`, which has 1-based fields `layer` and `head`.

    Args:
        plane: the coordinates of the heads.
        layers: the number of layers.
        heads: the number of heads per layer.
    """
    numbers = np.arange(layers * heads)
    # Add a margin. All heads may lie at one point, so keep the extent positive.
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
    # Only the browser knows the chart's width, so a Vega expression calculates the size of a pixel.
    pixel = f"max({across} / width, {upwards} / height)"

    def axis(side: str) -> dict[str, Any]:
        end = f"{pixel} * {side} / 2"
        domain = alt.Scale(domainMin=alt.expr(f"-{end}"), domainMax=alt.expr(end), nice=False)
        return {"title": "coordinate in the plane, nats", "scale": domain, "axis": alt.Axis(grid=False, **INK)}

    base = alt.Chart(table).encode(x=alt.X("x:Q", **axis("width")), y=alt.Y("y:Q", **axis("height")))
    # Outline the points. Otherwise the first layers' dark colours would vanish in the dark theme,
    # and the last layers' bright colours in the light theme.
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
    """For each point, return the first key of LABEL_OFFSETS at which its name overlaps nothing; "" if no key fits.

    Args:
        points: the points in pixels, y downwards: [N, 2].
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
