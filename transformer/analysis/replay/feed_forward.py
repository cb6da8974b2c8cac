"""The position-wise feed-forward network ("Attention Is All You Need", section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, expit

from transformer.config import LanguageModelActivation
from transformer.values.weights import Weights

ACTIVATIONS: dict[LanguageModelActivation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * expit(x),
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
    """Apply the network with this name in the checkpoint to x [N, D]."""
    expand, contract = weights.linear(f"{name}.expand"), weights.linear(f"{name}.contract")
    expanded = x @ expand.matrix + expand.bias
    hidden = ACTIVATIONS[weights.config.activation](expanded)
    return FeedForwardPass(x, expanded, hidden, hidden @ contract.matrix + contract.bias)
