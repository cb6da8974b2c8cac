"""The linear map used by the projections in attention, the feed-forward network and the generator."""

from typing import NamedTuple

import numpy as np


class LinearSaved(NamedTuple):
    x: np.ndarray
    weight: np.ndarray


class LinearGradients(NamedTuple):
    """Gradients of the input, dx [..., I], of the weight, dW [O, I], and of the bias, db [O]."""

    x: np.ndarray
    weight: np.ndarray
    bias: np.ndarray


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> tuple[np.ndarray, LinearSaved]:
    """Return y = x W^T + b, with W in torch's layout.

    Args:
        x: input, [..., I].
        weight: weight matrix W, [O, I].
        bias: bias vector b, [O]; None for no bias.

    Returns:
        Output y, [..., O], and the values that the backward pass needs.
    """
    y = x @ weight.T
    return y if bias is None else y + bias, LinearSaved(x, weight)


def linear_backward(grad: np.ndarray, saved: LinearSaved) -> LinearGradients:
    """Return dx = dy W, dW = dy^T x, and db = sum of dy over all positions.

    An input value affects every output through one column of W. A weight is used at every position, so its gradient is
    a sum over all positions. Source: Goodfellow, Bengio and Courville 2016, "Deep Learning", section 6.5.

    Args:
        grad: gradient of the output, dy [..., O].
        saved: values from the forward pass.
    """
    x, weight = saved
    outputs, inputs = grad.reshape(-1, grad.shape[-1]), x.reshape(-1, x.shape[-1])  # outputs [N, O], inputs [N, I]
    return LinearGradients(x=grad @ weight, weight=outputs.T @ inputs, bias=outputs.sum(axis=0))
