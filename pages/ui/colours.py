"""The one colour scale of all attention maps, and small pictures drawn with it."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

# Viridis (van der Walt and Smith 2015): perceptually uniform, safe for the colour-blind, dark means little.
SCALE = ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
# Neither on the scale nor the page's own colour, light or dark.
MASKED = "#8b93a3"

STOPS = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in SCALE], dtype=float)
MASKED_RGB = tuple(int(MASKED[i : i + 2], 16) for i in (1, 3, 5))


def colours(values: np.ndarray) -> np.ndarray:
    """Red, green and blue of values between 0 and 1: [...] to uint8 [..., 3]."""
    at = np.clip(values, 0.0, 1.0) * (len(STOPS) - 1)
    channels = [np.interp(at, range(len(STOPS)), STOPS[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=-1).round().astype(np.uint8)


def picture(values: np.ndarray, mask: np.ndarray) -> str:
    """A map [R, C] of values between 0 and 1 as a PNG, one pixel a cell, in a data address."""
    pixels = colours(values)
    pixels[~mask] = MASKED_RGB
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
