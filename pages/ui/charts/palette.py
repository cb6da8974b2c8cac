"""Colours of all figures, shared by Altair, Plotly, thumbnails and JavaScript. Pure."""

from __future__ import annotations

import altair as alt
import numpy as np

from attention_atlas.browser.palette import PALETTE

VIRIDIS: list[str] = PALETTE["sequential"]["viridis"]
DIVERGING: list[str] = PALETTE["diverging"]
# Colours for charts with two series, and with up to four.
FIRST, SECOND = PALETTE["pair"]
SERIES: list[str] = PALETTE["series"]
# Colours of the digits 0 and 1 of a binary number.
BITS: list[str] = PALETTE["bits"]
# Colour of the frame around a selected cell.
PICKED: str = PALETTE["picked"]
# Colour of masked cells, which must not look like small numbers.
MASKED: str = PALETTE["masked"]
# Text colours for a coloured background.
DARK, LIGHT = PALETTE["dark"], PALETTE["light"]


def sequential(most: float = 1.0) -> alt.Scale:
    """Return an Altair colour scale from 0 to `most`."""
    return _scale(0.0, most, VIRIDIS)


def diverging(most: float) -> alt.Scale:
    """Return an Altair colour scale centred on 0, for signed values.

    Args:
        most: the largest magnitude.
    """
    return _scale(-most, most, DIVERGING)


def transparent_diverging(most: float) -> alt.Scale:
    """Return a scale like `diverging` in which 0 is transparent: it shows the background of the theme.

    Args:
        most: the largest absolute value.
    """
    below, above = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (DIVERGING[0], DIVERGING[-1]))
    ends = [(below, 1), (below, 0), (above, 0), (above, 1)]
    colours = [f"rgba({', '.join(map(str, colour))}, {opacity})" for colour, opacity in ends]
    # Near 0, the hue changes where nothing is visible.
    nothing = most * 1e-6
    return alt.Scale(domain=[-most, -nothing, nothing, most], range=colours, interpolate="rgb", clamp=True)


def ink_on(field: str) -> alt.ColorValue:
    """Return an Altair text colour, dark or light, that is legible on a field's `sequential` colour."""
    return conditional_colour(f"datum.{field} > 0.6", DARK, LIGHT)


def conditional_colour(test: str, colour: str, otherwise: str) -> alt.ColorValue:
    """Return a conditional Altair colour, without the slow class lookup of `altair.condition`."""
    return alt.ColorValue(otherwise, condition={"test": test, "value": colour})


def colorscale(colours: list[str]) -> list[list[object]]:
    """Convert colours to a Plotly colour scale."""
    return [[float(at), colour] for at, colour in zip(np.linspace(0, 1, len(colours)), colours, strict=True)]


def _scale(low: float, high: float, colours: list[str]) -> alt.Scale:
    domain = np.linspace(low, high, len(colours)).tolist()
    return alt.Scale(domain=domain, range=colours, interpolate="rgb", clamp=True)
