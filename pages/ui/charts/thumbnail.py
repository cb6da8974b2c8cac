"""Draws a small picture of an array, with a colour for every number. Pure: numbers in, pixels out."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from attention_atlas.browser.palette import pixels
from pages.ui.charts.palette import DIVERGING, MASKED, VIRIDIS

WIDTH, HEIGHT = 512, 120
# Colours of weights from 0 to 1; the last entry is the colour of masked cells.
LEVELS = np.concatenate([pixels(np.linspace(0, 1, 255), VIRIDIS), pixels(np.zeros(1), [MASKED])])


def thumbnail(values: np.ndarray, *, share: bool = False, square: bool = False) -> np.ndarray:
    """Return the pixels of a matrix, uint8 [height, width, 3]; row 0 is on top, and non-finite values are masked.

    Cells are as large as fit into `WIDTH` by `HEIGHT`, but at least one pixel, so that no cell is lost or blurred.

    Args:
        values: [R, C].
        share: whether colours go from 0 to 1; otherwise 0 is in the middle, and the largest absolute value at an end.
        square: whether cells are square.
    """
    colours = _coloured(values, share=share)
    high, wide = (max(1, room // count) for room, count in zip((HEIGHT, WIDTH), values.shape, strict=True))
    if square:
        high = wide = min(high, wide)
    return colours.repeat(high, axis=0).repeat(wide, axis=1)


def data_uri(weights: np.ndarray) -> str:
    """Return a picture of an attention map as a data URI, with one pixel per weight.

    Args:
        weights: [R, C], 0 to 1; values that are not finite are masked.
    """
    # Use one byte per pixel, because the maps of all heads of a long sentence have hundreds of thousands of pixels.
    places = np.where(np.isfinite(weights), weights * (len(LEVELS) - 2), len(LEVELS) - 1)
    image = Image.fromarray(places.round().astype(np.uint8))
    image.putpalette(LEVELS.tobytes())
    png = io.BytesIO()
    image.save(png, "PNG")
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode('ascii')}"


def _coloured(values: np.ndarray, *, share: bool) -> np.ndarray:
    """Return the colour of every number, uint8 [R, C, 3]."""
    seen = np.isfinite(values)
    most = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    at = np.where(seen, values, 0.0) if share else np.where(seen, values, 0.0) / most / 2 + 0.5
    colours = pixels(at, VIRIDIS if share else DIVERGING)
    colours[~seen] = pixels(np.zeros(1), [MASKED])[0]
    return colours
