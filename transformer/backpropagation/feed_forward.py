"""The position-wise feed-forward network ("Attention Is All You Need", section 3.3)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.activations import activation, activation_backward
from transformer.backpropagation.linear import LinearSaved, linear, linear_backward
from transformer.backpropagation.notes import Notes
from transformer.config import Activation


class FeedForwardSaved(NamedTuple):
    expand: LinearSaved
    derivative: np.ndarray
    contract: LinearSaved


class FeedForwardGradients(NamedTuple):
    """Gradient of the input, dx [B, T, D], and gradients of the parameters."""

    x: np.ndarray
    parameters: dict[str, np.ndarray]


def feed_forward(
    x: np.ndarray, parameters: Mapping[str, np.ndarray], name: Activation, notes: Notes
) -> tuple[np.ndarray, FeedForwardSaved]:
    """Return y = f(x W_1^T + b_1) W_2^T + b_2 (equation 2 of the paper, with any activation function f).

    Args:
        x: input, [B, T, D].
        parameters: `expand` is W_1 [F, D] and b_1 [F]; `contract` is W_2 [D, F] and b_2 [D].
        name: name of the activation function f.
        notes: receives expanded and hidden, [B, T, F], the values before and after f.

    Returns:
        Output y, [B, T, D], and the values that the backward pass needs.
    """
    expanded, expand_saved = linear(x, parameters["expand.weight"], parameters["expand.bias"])
    hidden, derivative = activation(notes.note("expanded", expanded), name)
    y, contract_saved = linear(notes.note("hidden", hidden), parameters["contract.weight"], parameters["contract.bias"])
    return y, FeedForwardSaved(expand_saved, derivative, contract_saved)


def feed_forward_backward(grad: np.ndarray, saved: FeedForwardSaved, notes: Notes) -> FeedForwardGradients:
    """Return the gradients, from the last of the three steps to the first: dh = dy W_2, du = dh * f'(u), dx = du W_1.

    u and h are the values before and after f.

    Args:
        grad: gradient of the output, dy [B, T, D].
        saved: values from the forward pass.
        notes: receives the gradients of hidden (h) and expanded (u).
    """
    contract = linear_backward(grad, saved.contract)
    d_expanded = activation_backward(notes.note("hidden", contract.x), saved.derivative)
    expand = linear_backward(notes.note("expanded", d_expanded), saved.expand)
    return FeedForwardGradients(
        expand.x,
        {
            "expand.weight": expand.weight,
            "expand.bias": expand.bias,
            "contract.weight": contract.weight,
            "contract.bias": contract.bias,
        },
    )
