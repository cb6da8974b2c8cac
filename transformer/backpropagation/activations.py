"""The activations of the feed-forward network and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import erf, expit

from transformer.analysis.replay.feed_forward import ACTIVATIONS
from transformer.config import Activation


def relu_derivative(x: np.ndarray) -> np.ndarray:
    """1 where x > 0, else 0; at 0 there is none, and 0 is the convention (Nair and Hinton 2010)."""
    return (x > 0).astype(x.dtype)


def gelu_derivative(x: np.ndarray) -> np.ndarray:
    """Phi(x) + x phi(x), of x Phi(x), with the normal distribution Phi and its density phi (Hendrycks, Gimpel 2016)."""
    return (1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def silu_derivative(x: np.ndarray) -> np.ndarray:
    """g (1 + x (1 - g)), of x g, with the logistic function g of x (Elfwing et al. 2018)."""
    gate = expit(x)
    return gate * (1 + x * (1 - gate))


DERIVATIVES: Mapping[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": relu_derivative, "gelu": gelu_derivative, "silu": silu_derivative,
}


def activation(x: np.ndarray, name: Activation) -> tuple[np.ndarray, np.ndarray]:
    """Each number for itself, any shape; the second result is the derivative there, all that the way back needs."""
    return ACTIVATIONS[name](x), DERIVATIVES[name](x)


def activation_backward(grad: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """dx = dy * f'(x), any shape."""
    return grad * derivative
