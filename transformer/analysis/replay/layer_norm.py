"""Layer normalisation (Ba et al. 2016), with its intermediate results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.weights import Weights

# What torch adds to the variance against division by 0.
EPSILON = 1e-5


@dataclass(frozen=True, eq=False)
class NormPass:
    """One layer normalisation of N positions, float64.

    Attributes:
        before: [N, D].
        normalised: mean 0 and deviation 1, [N, D].
        after: gain times that, plus bias, [N, D].
    """

    before: np.ndarray
    normalised: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and (population) standard deviation over the D numbers of each position, [N] each."""

    mean: np.ndarray
    deviation: np.ndarray


def spread(x: np.ndarray) -> Spread:
    """Of x [N, D]."""
    return Spread(x.mean(axis=-1), x.std(axis=-1))


def layer_norm(x: np.ndarray, weights: Weights, name: str) -> NormPass:
    """Apply the norm with this name in the checkpoint to x [N, D]."""
    gain, bias = weights.gain_and_bias(name)
    x = x.astype(np.float64)
    mean = x.mean(axis=-1, keepdims=True)
    normalised = (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON)
    return NormPass(x, normalised, gain * normalised + bias)
