"""Softmax with a mask, in float64."""

from __future__ import annotations

import numpy as np


def softmax(scores: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """exp(s) over its sum in the row, as in the model (`transformer.model.attention.masked_softmax`).

    Args:
        scores: [..., C].
        allowed: bool, broadcastable to `scores`, True = may look; None allows everything.

    Returns:
        [..., C]; rows sum to 1, masked cells are exactly 0, and so is a row that may look at nothing.
    """
    powers = exponentials(scores, allowed)
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def exponentials(scores: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """The numerators of `softmax`, [..., C]: exp(s - m), 0 where masked.

    m is the largest allowed score of the row: it cancels in the quotient, and exp does not overflow.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if allowed is None:
        return np.exp(scores - scores.max(axis=-1, keepdims=True))
    largest = np.where(allowed, scores, np.finfo(np.float64).min).max(axis=-1, keepdims=True)
    return np.where(allowed, np.exp(np.where(allowed, scores, largest) - largest), 0.0)
