"""The loss: cross-entropy with label smoothing ("Attention Is All You Need", section 5.4)."""

from typing import NamedTuple

import numpy as np

from transformer.backpropagation.softmax import softmax


class CrossEntropySaved(NamedTuple):
    """Probabilities p and targets y, [B, T, V], and whether each position counts towards the loss, bool [B, T]."""

    probabilities: np.ndarray
    targets: np.ndarray
    counted: np.ndarray


def cross_entropy(
    logits: np.ndarray, labels: np.ndarray, counted: np.ndarray, label_smoothing: float = 0.0
) -> tuple[float, CrossEntropySaved]:
    """Return L = -sum_v y_v log p_v with p = softmax(z), summed over the positions that count, in nats.

    Without smoothing, y is 1 for the correct token and 0 for all others. Label smoothing takes probability e from
    the correct token, and spreads it evenly over the whole vocabulary. Source: Szegedy et al. 2016, "Rethinking the
    Inception Architecture", section 7.

    Args:
        logits: logits z, [B, T, V].
        labels: ids of the correct tokens, [B, T].
        counted: whether each position counts, bool [B, T]; False for padding and for positions to ignore.
        label_smoothing: probability e, at least 0 and below 1.

    Returns:
        The loss L, and the values that the backward pass needs.
    """
    vocabulary = logits.shape[-1]
    targets = np.full(logits.shape, label_smoothing / vocabulary)
    np.put_along_axis(targets, labels[..., None], 1 - label_smoothing + label_smoothing / vocabulary, axis=-1)
    probabilities = softmax(logits)
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    losses = -(targets * log_probabilities).sum(axis=-1)  # [B, T]
    return float(losses[counted].sum()), CrossEntropySaved(probabilities, targets, counted)


def cross_entropy_backward(saved: CrossEntropySaved) -> np.ndarray:
    """Return dz = p - y at the positions that count, and 0 elsewhere.

    The derivatives of softmax and logarithm cancel. dz is the amount by which each token's probability exceeds its
    target, and each row sums to 0. Source: Bishop 2006, "Pattern Recognition and Machine Learning", equation 4.109.

    Returns:
        Gradient dz, [B, T, V].
    """
    probabilities, targets, counted = saved
    return np.where(counted[..., None], probabilities - targets, 0.0)
