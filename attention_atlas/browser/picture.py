"""Renders one head as an SVG image, for use where scripts do not run, as in a saved notebook without a kernel."""

import unicodedata
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from attention_atlas.browser.labels import TITLES, column_labels, row_labels
from attention_atlas.browser.palette import PALETTE, shades
from transformer.analysis.view import view_of
from transformer.values.trace import Kind, Trace

# In pixels: maximum width and height of the map, maximum size of a cell, and minimum distance between two labels.
WIDTH, HEIGHT, CELL, LINE = 640, 480, 26, 14
# Average width of a character, in pixels; wide characters take twice as much.
CHARACTER = 7
MAX_CHARACTERS = 26
LEVELS = 32
COLUMN_ANGLE = -50
CAPTION = "Each row attends to the columns; dark is 0, yellow is 1."


def picture(trace: Trace, kind: Kind, choice: Mapping[str, Any]) -> str:
    """Return a head's attention map as an SVG document.

    Args:
        trace, kind: trace and attention kind to draw.
        choice: values for "layer", "head", "words" and "hide", as in `attention_atlas.browser.payload.CHOICE`.
    """
    view = view_of(trace, kind, words=choice["words"], special=not choice["hide"])
    rows, columns = (list(map(_shorten, labels(view.axes))) for labels in (row_labels, column_labels))
    high, wide = min(CELL, HEIGHT / len(rows)), min(CELL, WIDTH / len(columns))
    title = _title(kind, choice)
    left, top = _width(rows) + 12, 0.8 * _width(columns) + 44
    right, bottom = left + wide * len(columns), top + high * len(rows)
    width, height = max(right + 0.7 * _width(columns[-1:]), CHARACTER * len(CAPTION)) + 12, bottom + 30
    middles = [(row, top + (row + 0.5) * high + 4) for row in _label_positions(rows, high)]
    centres = [(column, left + (column + 0.5) * wide) for column in _label_positions(columns, wide)]
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-label="{title}" font-family="sans-serif" font-size="12" '
            f'fill="{PALETTE["dark"]}"><title>{title}</title>'
            f'<rect width="100%" height="100%" fill="{PALETTE["light"]}"/>'
            f'<text x="12" y="20" font-size="14" font-weight="bold">{title}</text>',
            *(
                f'<text x="{left - 6:.1f}" y="{y:.1f}" text-anchor="end">{escape(rows[row])}</text>'
                for row, y in middles
            ),
            *(
                f'<text transform="translate({x + 4:.1f} {top - 6:.1f}) rotate({COLUMN_ANGLE})">'
                f"{escape(columns[column])}</text>"
                for column, x in centres
            ),
            f'<g transform="translate({left:.1f} {top:.1f}) scale({wide:.3f} {high:.3f})" '
            'shape-rendering="crispEdges">',
            _cells(view.weights[choice["layer"], choice["head"]], view.mask),
            f'</g><text x="12" y="{bottom + 20:.1f}">{CAPTION}</text></svg>',
        ]
    )


def image(trace: Trace, kind: Kind, choice: Mapping[str, Any]) -> str:
    """Return a head's attention map as an HTML img element, which JupyterLab shows even in an untrusted notebook."""
    data = b64encode(picture(trace, kind, choice).encode()).decode("ascii")
    return f'<img alt="{_title(kind, choice)}" src="data:image/svg+xml;base64,{data}">'


def _title(kind: Kind, choice: Mapping[str, Any]) -> str:
    return f"{TITLES[kind]}, layer {choice['layer'] + 1}, head {choice['head'] + 1}"


def _cells(weights: np.ndarray, mask: np.ndarray) -> str:
    """Return the cells as one SVG path per colour; a cell is one unit wide.

    Adjacent cells of the same colour in a row are drawn as one line.
    """
    colours = [*shades(LEVELS), PALETTE["masked"]]
    levels = np.where(mask, np.rint(weights * (LEVELS - 1)), LEVELS).astype(int)
    paths: dict[int, list[str]] = {}
    for row, line in enumerate(levels):
        starts = np.flatnonzero(np.diff(line, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            paths.setdefault(int(line[start]), []).append(f"M{start} {row}.5h{end - start}")
    return "".join(f'<path stroke="{colours[level]}" d="{"".join(lines)}"/>' for level, lines in sorted(paths.items()))


def _shorten(label: str) -> str:
    label = label.removeprefix("in: ").replace(" → out: ", " → ")
    return label if len(label) <= MAX_CHARACTERS else f"{label[: MAX_CHARACTERS - 1]}…"


def _width(labels: Sequence[str]) -> int:
    """Return the width of the longest label in pixels, estimated because no font is available to measure text."""
    wide = [sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in label) for label in labels]
    return CHARACTER * max(wide, default=0)


def _label_positions(labels: Sequence[str], size: float) -> range:
    """Return the positions of every n-th label, with the smallest n at which labels do not overlap."""
    return range(0, len(labels), int(np.ceil(LINE / size)))
