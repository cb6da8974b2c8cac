"""One kind of attention as bytes for the browser: all weights of all heads, and what stands beside them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from pages.ui.labels import column_labels, row_labels, titles
from transformer.analysis.view import Axes, axes_of
from transformer.trace import Kind, Trace

# A weight is sent as floor(60,000 w + 3): six codes for each number of four decimals, so that rounding a received
# weight gives the four decimals of the tensor, which 1/65,535 would not.
STEPS = 60_000
PER_DECIMAL = 6
MASKED = 65_535
# Where start and end symbols are hidden, what a row leaves for the other pieces is scaled up to 1, and may have been
# very little. So its weights there are sent as often doubled as they can be, at most so often.
MOST_DOUBLINGS = 15


def codes(weights: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Weights as 16-bit numbers.

    Args:
        weights: [..., R, C], 0 to 1.
        mask: bool [R, C], True = may look.

    Returns:
        uint16 [..., R, C]; MASKED where the mask is False.
    """
    numbers = np.floor(weights.astype(np.float64) * STEPS + PER_DECIMAL / 2)
    return np.where(mask, numbers, MASKED).astype(np.uint16)


def decimals(weights: np.ndarray) -> np.ndarray:
    """Weights rounded to the four decimals that the browser shows; halves go up."""
    return np.floor(weights.astype(np.float64) * STEPS + PER_DECIMAL / 2) // PER_DECIMAL / (STEPS // PER_DECIMAL)


def doublings(weights: np.ndarray, special: np.ndarray) -> np.ndarray:
    """How often the weights of each row on pieces that are not special can be doubled, and their sum stays at most 1.

    Args:
        weights: [..., R, C].
        special: bool [C].

    Returns:
        uint8 [..., R], 0 to MOST_DOUBLINGS.
    """
    left = np.maximum(weights[..., ~special].sum(axis=-1), 2.0**-MOST_DOUBLINGS)
    return np.maximum(np.floor(-np.log2(left)), 0).astype(np.uint8)


def payload(trace: Trace, kind: Kind, header: Mapping[str, Any]) -> bytes:
    """A little-endian length, a JSON header of that many bytes, and the compressed codes, low bytes before high ones.

    Args:
        trace: of a run.
        kind: of attention.
        header: what else the browser should know.
    """
    weights, mask = trace.attention(kind), trace.mask(kind)
    layers, heads, queries, keys = weights.shape
    special = np.array([piece.special for piece in trace.keys(kind)])
    doubled = doublings(weights, special)
    head = json.dumps({
        **header,
        "kind": kind, "layers": layers, "heads": heads, "queries": queries, "keys": keys,
        "arrangements": {
            ("words" if words else "pieces") + ("" if special else "-hidden"): _arrangement(
                axes_of(trace, kind, words=words, special=special)
            )
            for words in (False, True) for special in (False, True)
        },
        "special": np.flatnonzero(special).tolist(), "doublings": "".join(f"{number:x}" for number in doubled.ravel()),
        "axes": {"pieces": _titles(words=False), "words": _titles(words=True)},
    }).encode("ascii")
    return packed(head, codes(np.where(special, weights, np.ldexp(weights, doubled[..., None])), mask))


def packed(head: bytes, numbers: np.ndarray) -> bytes:
    """The bytes that the browser unpacks.

    Args:
        head: a JSON document.
        numbers: uint16, any shape.
    """
    planes = (numbers & 0xFF).astype(np.uint8).tobytes() + (numbers >> 8).astype(np.uint8).tobytes()
    return len(head).to_bytes(4, "little") + head + zlib.compress(planes, level=1)


def _arrangement(axes: Axes) -> dict[str, Any]:
    sides = {"rows": (row_labels(axes), axes.row_positions), "columns": (column_labels(axes), axes.column_positions)}
    return {
        "scaled": not axes.special,
        **{
            side: [{"label": label, "positions": group} for label, group in zip(labels, groups, strict=True)]
            for side, (labels, groups) in sides.items()
        },
    }


def _titles(*, words: bool) -> dict[str, str]:
    return dict(zip(("from", "to"), titles(words), strict=True))
