"""Activation functions of the feed-forward network, with their derivatives."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import erf, expit

from transformer.config import Activation

ACTIVATIONS: Mapping[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * expit(x),
}


def relu_derivative(x: np.ndarray) -> np.ndarray:
    """Return 1 where x > 0, else 0. ReLU has no derivative at 0; 0 is the convention (Nair and Hinton 2010)."""
    return (x > 0).astype(x.dtype)


def gelu_derivative(x: np.ndarray) -> np.ndarray:
    """Return Phi(x) + x phi(x), the derivative of x Phi(x) (Hendrycks and Gimpel 2016).

    Phi is the CDF of the standard normal distribution, and phi its density.
    """
    return (1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


def gelu_tanh_derivative(x: np.ndarray) -> np.ndarray:
    """Return `(1 + tanh u) / 2 + x (1 - tanh^2 u) u' / 2` with `u = sqrt(2 / pi) (x + 0.044715 x^3)`.

    This is the derivative of `x (1 + tanh u) / 2`, which approximates GELU.
    """
    scale = math.sqrt(2 / math.pi)
    tanh = np.tanh(scale * (x + 0.044715 * x**3))
    return (1 + tanh) / 2 + x * (1 - tanh**2) * scale * (1 + 3 * 0.044715 * x**2) / 2


def silu_derivative(x: np.ndarray) -> np.ndarray:
    """Return g (1 + x (1 - g)), the derivative of x g, where g is the logistic function of x (Elfwing et al. 2018)."""
    gate = expit(x)
    return gate * (1 + x * (1 - gate))


DERIVATIVES: Mapping[Activation, Callable[[np.ndarray], np.ndarray]] = {
    "relu": relu_derivative,
    "gelu": gelu_derivative,
    "gelu_tanh": gelu_tanh_derivative,
    "silu": silu_derivative,
}


def activation(x: np.ndarray, name: Activation) -> tuple[np.ndarray, np.ndarray]:
    """Return an activation function's values and derivatives, elementwise. The backward pass needs the derivatives."""
    return ACTIVATIONS[name](x), DERIVATIVES[name](x)


def activation_backward(grad: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """Return dx = dy * f'(x), for arrays of any shape."""
    return grad * derivative
