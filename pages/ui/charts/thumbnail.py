"""Pure functions that render arrays as small images, with one colour per value."""

import base64
import io

import numpy as np
from PIL import Image

from attention_atlas.browser.palette import pixels
from pages.ui.charts.palette import DIVERGING, MASKED, VIRIDIS

WIDTH, HEIGHT = 512, 120
# Palette of a PNG image: 255 colours for weights from 0 to 1, then the colour of masked cells.
LEVELS = np.concatenate([pixels(np.linspace(0, 1, 255), VIRIDIS), pixels(np.zeros(1), [MASKED])])


def thumbnail(values: np.ndarray, *, share: bool = False, square: bool = False) -> np.ndarray:
    """Return a matrix as pixels, uint8 [height, width, 3], with row 0 at the top.

    Cells are as large as `WIDTH` by `HEIGHT` pixels allow. Each cell takes at least one pixel, so that no cell is lost
    or blurred.

    Args:
        values: the matrix, [R, C]; non-finite values are shown as masked.
        share: whether the colour scale runs from 0 to 1; if False, it is centred on 0 and extends to the largest
            magnitude on both sides.
        square: whether cells are square.
    """
    colours = _colours(values, share=share)
    high, wide = (max(1, room // count) for room, count in zip((HEIGHT, WIDTH), values.shape, strict=True))
    if square:
        high = wide = min(high, wide)
    return colours.repeat(high, axis=0).repeat(wide, axis=1)


def data_uri(weights: np.ndarray) -> str:
    """Return an attention map as a data URI: a PNG image with one pixel per weight.

    Args:
        weights: the map, [R, C], from 0 to 1; non-finite values are shown as masked.
    """
    # Use an indexed palette, at one byte per pixel, because the maps of a long sentence
    # have hundreds of thousands of pixels.
    places = np.where(np.isfinite(weights), weights * (len(LEVELS) - 2), len(LEVELS) - 1)
    image = Image.fromarray(places.round().astype(np.uint8))
    image.putpalette(LEVELS.tobytes())
    png = io.BytesIO()
    image.save(png, "PNG")
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode('ascii')}"


def _colours(values: np.ndarray, *, share: bool) -> np.ndarray:
    """Return the colour of each value: uint8 [R, C, 3]."""
    is_visible = np.isfinite(values)
    most = float(np.abs(values[is_visible]).max(initial=0.0)) or 1.0
    at = np.where(is_visible, values, 0.0) if share else np.where(is_visible, values, 0.0) / most / 2 + 0.5
    colours = pixels(at, VIRIDIS if share else DIVERGING)
    colours[~is_visible] = pixels(np.zeros(1), [MASKED])[0]
    return colours
