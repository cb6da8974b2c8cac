"""Mixing matrices: how much of each input position an attention layer mixes into each output position.

Rollout multiplies the matrices of all layers.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Mixing:
    """Contributions of input positions to output positions in attention layers, including the residual connections.

    L layers, S source tokens, T target tokens; arrays are float64 and contain shares of the output. Each row of
    self-attention sums to 1. Each row of cross-attention sums to 1 together with its entry in `residual`.

    Attributes:
        encoder: shares in the encoder's self-attention, [L, S, S].
        decoder: shares in the decoder's self-attention, [L, T, T].
        cross: shares of the source tokens in cross-attention, [L, T, S].
        residual: share of the decoder's residual connection in cross-attention, [L, T].
    """

    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray
    residual: np.ndarray
