"""The position-wise feed-forward network ("Attention Is All You Need", section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.config import Activation
from transformer.weights import Weights

_erf = np.vectorize(math.erf, otypes=[np.float64])

ACTIVATIONS: dict[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
    # x times the logistic function, written with tanh: exp would overflow far from 0.
    "silu": lambda x: x * 0.5 * (1 + np.tanh(x / 2)),
}


@dataclass(frozen=True, eq=False)
class FeedForwardPass:
    """One feed-forward network at N positions, float64.

    Attributes:
        read: [N, D].
        expanded: the hidden layer before the activation, [N, F].
        hidden: and after it, [N, F].
        written: [N, D].
    """

    read: np.ndarray
    expanded: np.ndarray
    hidden: np.ndarray
    written: np.ndarray


def feed_forward(x: np.ndarray, weights: Weights, name: str) -> FeedForwardPass:
    """Run the network that the checkpoint calls `name` on x [N, D]."""
    expand, contract = weights.linear(f"{name}.expand"), weights.linear(f"{name}.contract")
    expanded = x @ expand.matrix + expand.bias
    hidden = ACTIVATIONS[weights.config.activation](expanded)
    return FeedForwardPass(x, expanded, hidden, hidden @ contract.matrix + contract.bias)
