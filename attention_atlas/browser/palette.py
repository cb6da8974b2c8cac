"""Colours for every figure, read from assets/shared/palette.js, which defines each colour once."""

import json

import numpy as np

from transformer.files.paths import ASSETS

SOURCE = ASSETS / "shared" / "palette.js"
PALETTE = json.loads(SOURCE.read_text(encoding="utf-8").partition("const PALETTE = ")[2].rstrip().removesuffix(";"))


def pixels(places: np.ndarray, colours: list[str]) -> np.ndarray:
    """Return the colours at the given positions on a colour scale.

    Args:
        places: positions on the scale, 0 to 1, [...].
        colours: hexadecimal colours of the scale's evenly spaced stops.

    Returns:
        RGB values, uint8 [..., 3].
    """
    stops = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours], dtype=float)
    at = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(places, at, channel) for channel in stops.T], axis=-1).round().astype(np.uint8)


def shades(count: int) -> list[str]:
    """Return `count` evenly spaced colours from the sequential scale."""
    colours = pixels(np.linspace(0, 1, count), PALETTE["sequential"]["viridis"])
    return ["#" + bytes(colour).hex() for colour in colours.tolist()]
