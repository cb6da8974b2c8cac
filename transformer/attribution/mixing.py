"""Mixing matrices: how much of each input position a layer mixes into each output position; rollout multiplies them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Mixing:
    """Shares of the input positions in the output positions of each attention layer, residual connection included.

    L layers, S source tokens, T target tokens; float64. Each row sums to 1; for cross-attention, including its share in
    `residual`.

    Attributes:
        encoder: [L, S, S].
        decoder: [L, T, T].
        cross: [L, T, S].
        residual: share of the decoder's own stream after cross-attention, [L, T].
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    residual: np.ndarray
