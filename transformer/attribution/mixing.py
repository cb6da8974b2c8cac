"""Mixing matrices: how much of each position every layer mixes into each; rollout multiplies them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Mixing:
    """Shares of the input positions in the output positions of each attention layer, residual connection included.

    L layers, S source tokens, T target tokens; float64. Rows sum to 1; a row of cross-attention together with its
    share in `residual`.

    Attributes:
        encoder: [L, S, S].
        decoder: [L, T, T].
        cross: [L, T, S].
        residual: what is left of the decoder's own stream after cross-attention, [L, T].
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    residual: np.ndarray
