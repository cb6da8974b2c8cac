"""Mixing matrices: how much of each input position a layer mixes into each output position. Rollout multiplies them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Mixing:
    """Share of each input position in each output position, per attention layer, including the residual connection.

    L layers, S source tokens, T target tokens; float64. Each row sums to 1. In cross-attention, the sum includes the
    row's share in `residual`.

    Attributes:
        encoder: shares in the encoder's self-attention, [L, S, S].
        decoder: shares in the decoder's self-attention, [L, T, T].
        cross: shares in cross-attention, [L, T, S].
        residual: share of the decoder's own stream after cross-attention, [L, T].
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    residual: np.ndarray
