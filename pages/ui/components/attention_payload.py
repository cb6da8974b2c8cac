"""One kind of attention as bytes for the browser: all weights of all heads, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pages.ui.components.wire import codes, pack
from pages.ui.text.labels import column_labels, row_labels, titles
from transformer.analysis.view import Axes, axes_of
from transformer.values.trace import Kind, Trace

# Where start and end symbols are hidden, what a row leaves for the other pieces is scaled up to 1, and may have been
# very little. So its weights there are sent doubled, as often as they can be and at most this often.
MOST_DOUBLINGS = 15
DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
# Pieces or words, with the special ones or without: (words, special).
EVERY_ARRANGEMENT = tuple((words, special) for words in (False, True) for special in (False, True))


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


def payload(
    trace: Trace, kind: Kind, header: Mapping[str, Any], arrangements: Iterable[tuple[bool, bool]] = EVERY_ARRANGEMENT
) -> bytes:
    """A message of `pages.ui.components.wire`: what the browser needs to draw a kind, and the codes of all its weights.

    Args:
        trace: of a run.
        kind: of attention.
        header: what else the browser needs.
        arrangements: those that can be chosen there.
    """
    weights, mask = trace.attention(kind), trace.mask(kind)
    layers, heads, queries, keys = weights.shape
    special = np.array([piece.special for piece in trace.key_pieces(kind)])
    doubled = doublings(weights, special)
    complete = {
        **header,
        "kind": kind, "layers": layers, "heads": heads, "queries": queries, "keys": keys,
        "arrangements": {
            ("words" if words else "pieces") + ("" if special else "-hidden"): _arrangement(
                axes_of(trace, kind, words=words, special=special)
            )
            for words, special in arrangements
        },
        "special": np.flatnonzero(special).tolist(), "doublings": DIGITS[doubled.ravel()].tobytes().decode("ascii"),
        "axes": {"pieces": _titles(words=False), "words": _titles(words=True)},
    }
    return pack(complete, codes(np.where(special, weights, np.ldexp(weights, doubled[..., None])), mask))


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
