"""Pure functions that return the colours of all figures. The palette file is shared with the JavaScript components."""

import altair as alt
import numpy as np

from attention_atlas.browser.palette import PALETTE

VIRIDIS: list[str] = PALETTE["sequential"]["viridis"]
DIVERGING: list[str] = PALETTE["diverging"]
# Colours for charts with two series, and for charts with up to four.
FIRST, SECOND = PALETTE["pair"]
SERIES: list[str] = PALETTE["series"]
# Colours of the binary digits 0 and 1.
BITS: list[str] = PALETTE["bits"]
# Colour of the frame around a selected cell.
PICKED: str = PALETTE["picked"]
# Colour of masked cells, which must differ from all colours that represent values.
MASKED: str = PALETTE["masked"]
# Text colours for coloured backgrounds.
DARK, LIGHT = PALETTE["dark"], PALETTE["light"]


def sequential(most: float = 1.0) -> alt.Scale:
    """Return an Altair colour scale for values from 0 to `most`."""
    return _scale(0.0, most, VIRIDIS)


def diverging(most: float) -> alt.Scale:
    """Return an Altair colour scale for signed values, from `-most` to `most`."""
    return _scale(-most, most, DIVERGING)


def transparent_diverging(most: float) -> alt.Scale:
    """Return an Altair colour scale for signed values, from `-most` to `most`, in which 0 is transparent."""
    below, above = ([int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (DIVERGING[0], DIVERGING[-1]))
    ends = [(below, 1), (below, 0), (above, 0), (above, 1)]
    colours = [f"rgba({', '.join(map(str, colour))}, {opacity})" for colour, opacity in ends]
    # The scale jumps from one hue to the other near 0, where the colours are invisible.
    nothing = most * 1e-6
    return alt.Scale(domain=[-most, -nothing, nothing, most], range=colours, interpolate="rgb", clamp=True)


def ink_on(field: str) -> alt.ColorValue:
    """Return an Altair text colour, dark or light, that is legible on the `sequential` colour of a field's value."""
    return conditional_colour(f"datum.{field} > 0.6", DARK, LIGHT)


def conditional_colour(test: str, colour: str, otherwise: str) -> alt.ColorValue:
    """Return an Altair colour that depends on a Vega expression; faster than `altair.condition`.

    Args:
        test: the Vega expression.
        colour: the colour if the expression is true.
        otherwise: the colour if the expression is false.
    """
    return alt.ColorValue(otherwise, condition={"test": test, "value": colour})


def colorscale(colours: list[str]) -> list[list[object]]:
    """Return a Plotly colour scale with the given colours, evenly spaced."""
    return [[float(at), colour] for at, colour in zip(np.linspace(0, 1, len(colours)), colours, strict=True)]


def _scale(low: float, high: float, colours: list[str]) -> alt.Scale:
    domain = np.linspace(low, high, len(colours)).tolist()
    return alt.Scale(domain=domain, range=colours, interpolate="rgb", clamp=True)
