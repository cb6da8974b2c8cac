"""A small picture of an array, a colour for every number. Pure: numbers in, pixels out."""

from __future__ import annotations

import numpy as np

# Seen on light and on dark; viridis and the blue-orange of the other figures, at a few points.
SIGNED = np.array([[5, 48, 97], [103, 169, 207], [247, 247, 247], [239, 138, 98], [103, 0, 31]], dtype=float)
SHARE = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=float)
MASKED = np.array([139, 147, 163], dtype=np.uint8)
WIDTH, HEIGHT = 512, 120


def picture(values: np.ndarray, *, share: bool = False) -> np.ndarray:
    """The pixels of a matrix, uint8 [height, width, 3]; row 0 is on top, and what is not finite is masked.

    Cells are as large as fit into `WIDTH` by `HEIGHT`, at least a pixel: none is left out or blurred into another.

    Args:
        values: [R, C].
        share: colours go from 0 to 1; otherwise 0 is in the middle and the largest number at an end.
    """
    seen = np.isfinite(values)
    most = float(np.abs(values[seen]).max(initial=0.0)) or 1.0
    at = np.where(seen, values, 0.0) if share else np.where(seen, values, 0.0) / most / 2 + 0.5
    anchors = SHARE if share else SIGNED
    places = np.linspace(0, 1, len(anchors))
    colours = np.stack([np.interp(at, places, channel) for channel in anchors.T], axis=-1).round().astype(np.uint8)
    colours[~seen] = MASKED
    rows, columns = values.shape
    return colours.repeat(max(1, HEIGHT // rows), axis=0).repeat(max(1, WIDTH // columns), axis=1)
