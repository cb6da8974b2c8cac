"""Layer normalisation (Ba et al. 2016, "Layer Normalization")."""

from typing import NamedTuple

import numpy as np

# Added to the variance to avoid division by 0; this is torch's default.
EPSILON = 1e-5


class LayerNormSaved(NamedTuple):
    """The normalised x [..., D], the standard deviation of x [..., 1], and the gain [D]."""

    normalised: np.ndarray
    deviation: np.ndarray
    gain: np.ndarray


class LayerNormGradients(NamedTuple):
    """Gradients of the input, dx [..., D], and of gain and bias, [D] each."""

    x: np.ndarray
    gain: np.ndarray
    bias: np.ndarray


def layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, LayerNormSaved]:
    """Return y = gain * n + bias with n = (x - mean) / deviation, normalised over the last axis.

    Args:
        x: input, [..., D].
        gain, bias: parameters, [D].

    Returns:
        Output y, [..., D], and the values that the backward pass needs.
    """
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
    normalised = (x - x.mean(axis=-1, keepdims=True)) / deviation
    return gain * normalised + bias, LayerNormSaved(normalised, deviation, gain)


def layer_norm_backward(grad: np.ndarray, saved: LayerNormSaved) -> LayerNormGradients:
    """Return dx = (dn - mean(dn) - n mean(dn * n)) / deviation, dgain = sum dy * n and dbias = sum dy; dn = gain * dy.

    The mean and the deviation also depend on x, so dx has no component in two directions. The first is a constant
    vector, because adding a constant to all of x does not change y. The second is n, because scaling x - mean does not
    change y (except through EPSILON). Ioffe and Szegedy 2015, "Batch Normalization", section 3, derive the same formula
    by the chain rule.

    Args:
        grad: gradient of the output, dy [..., D].
        saved: values from the forward pass.
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
