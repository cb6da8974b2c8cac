"""Layer normalisation (Ba et al. 2016, "Layer Normalization")."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# torch adds this to the variance to avoid a division by 0.
EPSILON = 1e-5


class LayerNormSaved(NamedTuple):
    """The normalised x [..., D], its deviation [..., 1], and the gain [D]."""

    normalised: np.ndarray
    deviation: np.ndarray
    gain: np.ndarray


class LayerNormGradients(NamedTuple):
    """dx [..., D], and the gradients of gain and bias [D]."""

    x: np.ndarray
    gain: np.ndarray
    bias: np.ndarray


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, LayerNormSaved]:
    """y = gain * n + bias with n = (x - mean) / deviation, mean and deviation over the D numbers of a position.

    Args:
        x: [..., D].
        gain, bias: [D].

    Returns:
        y [..., D].
    """
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
    normalised = (x - x.mean(axis=-1, keepdims=True)) / deviation
    return gain * normalised + bias, LayerNormSaved(normalised, deviation, gain)


def layer_norm_backward(grad: np.ndarray, saved: LayerNormSaved) -> LayerNormGradients:
    """dx = (dn - mean(dn) - n mean(dn * n)) / deviation with dn = gain * dy; dgain = sum dy * n; dbias = sum dy.

    Mean and deviation depend on x too. They remove two directions from the gradient. One is that of a constant, because
    adding a constant to all of x changes nothing. The other is that of n, because stretching x changes nothing (except
    for the epsilon). Ioffe and Szegedy 2015, "Batch Normalization", section 3, derive the same by the chain rule.

    Args:
        grad: dy [..., D].
    """
    normalised, deviation, gain = saved
    d_normalised = gain * grad
    x = (
        d_normalised
        - d_normalised.mean(axis=-1, keepdims=True)
        - normalised * (d_normalised * normalised).mean(axis=-1, keepdims=True)
    ) / deviation
    positions = tuple(range(grad.ndim - 1))
    return LayerNormGradients(x, gain=(grad * normalised).sum(axis=positions), bias=grad.sum(axis=positions))
