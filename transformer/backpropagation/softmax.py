"""Softmax over the last axis, with an optional mask."""

import numpy as np


def softmax(scores: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Return a_j = exp(s_j) / sum_k exp(s_k) over the allowed k, and 0 elsewhere.

    `transformer.model.attention.masked_softmax` is the equivalent in the torch model.

    Args:
        scores: scores s, [..., S].
        allowed: bool, broadcastable to `scores`, True where the query may attend to the key; None allows everything.

    Returns:
        Weights a, [..., S]. Rows sum to 1, and masked cells are exactly 0. A fully masked row is all 0. The backward
        pass needs only these weights.
    """
    powers = exponentials(scores, allowed)
    total = powers.sum(axis=-1, keepdims=True)
    return np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)


def exponentials(scores: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Return the numerators of `softmax`, [..., S]: exp(s - m), and 0 where masked.

    m is the row's largest allowed score. Subtracting m does not change the quotient, and prevents overflow in exp.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if allowed is None:
        return np.exp(scores - scores.max(axis=-1, keepdims=True))
    largest = np.where(allowed, scores, np.finfo(np.float64).min).max(axis=-1, keepdims=True)
    return np.where(allowed, np.exp(np.where(allowed, scores, largest) - largest), 0.0)


def softmax_backward(grad: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ds = a * (da - sum_k a_k da_k).

    This is the product of da with the Jacobian of one row, `∂a_j/∂s_k = a_j (1[j = k] - a_k)`, which is never built. A
    row of ds sums to 0, because adding a constant to all scores of a row changes nothing. Where a weight is 0, ds is
    also 0. Source: Goodfellow, Bengio and Courville 2016, "Deep Learning", section 6.2.2.3.

    Args:
        grad: gradient of the output, da [..., S].
        weights: weights a, [..., S].

    Returns:
        Gradient ds, [..., S].
    """
    return weights * (grad - (weights * grad).sum(axis=-1, keepdims=True))
