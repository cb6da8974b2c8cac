"""The linear map of every projection: queries, keys, values, output, feed-forward network and generator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LinearSaved(NamedTuple):
    x: np.ndarray
    weight: np.ndarray


class LinearGradients(NamedTuple):
    """The gradients dx [..., I], dW [O, I] and db [O]."""

    x: np.ndarray
    weight: np.ndarray
    bias: np.ndarray


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> tuple[np.ndarray, LinearSaved]:
    """y = x W^T + b, with torch's layout of W.

    Args:
        x: [..., I].
        weight: W [O, I].
        bias: b [O]; None for none.

    Returns:
        y [..., O].
    """
    y = x @ weight.T
    return y if bias is None else y + bias, LinearSaved(x, weight)


def linear_backward(grad: np.ndarray, saved: LinearSaved) -> LinearGradients:
    """dx = dy W, dW = dy^T x, db = sum of dy over the positions.

    An input reaches every output through a column of W. A weight acts at every position, so its gradient is a sum over
    all positions. See Goodfellow, Bengio and Courville 2016, "Deep Learning", section 6.5.

    Args:
        grad: dy [..., O].
    """
    x, weight = saved
    outputs, inputs = grad.reshape(-1, grad.shape[-1]), x.reshape(-1, x.shape[-1])  # [N, O], [N, I]
    return LinearGradients(x=grad @ weight, weight=outputs.T @ inputs, bias=outputs.sum(axis=0))
