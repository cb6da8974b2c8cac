"""Softmax over the last axis, with a mask."""

from __future__ import annotations

import numpy as np

from transformer.analysis.replay import softmax as forward


def softmax(scores: np.ndarray, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """a_j = exp(s_j) / sum_k exp(s_k) over the allowed k, and 0 elsewhere.

    Args:
        scores: s [..., S].
        allowed: bool, broadcastable to `scores`, True = may look; None allows everything.

    Returns:
        a [..., S], twice: the weights are all that the way back needs.
    """
    weights = forward.softmax(scores, allowed)
    return weights, weights


def softmax_backward(grad: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """ds = a * (da - sum_k a_k da_k).

    The Jacobian of one row is da_j/ds_k = a_j (1[j = k] - a_k); this is its product with da, without building it. A row
    of ds sums to 0, because adding a constant to all scores of a row changes nothing; where a weight is 0, so is ds
    (Goodfellow, Bengio and Courville 2016, "Deep Learning", section 6.2.2.3).

    Args:
        grad: da [..., S].
        weights: a [..., S].

    Returns:
        ds [..., S].
    """
    return weights * (grad - (weights * grad).sum(axis=-1, keepdims=True))
