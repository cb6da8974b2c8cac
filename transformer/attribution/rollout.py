"""Attention rollout through an encoder-decoder.

Sources: Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 4, for one stack; Ferrando et al.
2022, "Towards Opening the Black Box of Neural Machine Translation: Source and Target Interpretations of the
Transformer", section 3, for encoder and decoder together.
"""

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_shares
from transformer.attribution.mixing import Mixing
from transformer.attribution.weights import mixing_by_weights


def rollout(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Attribute the targets by attention rollout, with the residual connection counted as half of each layer."""
    source, prefix = roll_out(mixing_by_weights(run.trace))
    return attribution_of_shares("rollout", run.trace, targets, source, prefix)


def roll_out(mixing: Mixing) -> tuple[np.ndarray, np.ndarray]:
    """Compute each input token's share of the decoder's output.

    Returns:
        Shares of the source tokens, [T, S], and of the prefix, [T, T]. At each position, all shares together sum to 1.
    """
    encoder = encoder_rollout(mixing)
    source = np.zeros_like(mixing.cross[0])
    prefix = np.eye(mixing.decoder.shape[-1])
    for self_attention, cross, residual in zip(mixing.decoder, mixing.cross, mixing.residual, strict=True):
        stays = residual[:, None] * self_attention
        source = _product(stays, source) + _product(cross, encoder)
        prefix = _product(stays, prefix)
    return source, prefix


def encoder_rollout(mixing: Mixing) -> np.ndarray:
    """Return each source token's share of each position of the encoder's output, [S, S]; rows are output positions."""
    product = np.eye(mixing.encoder.shape[-1])
    for layer in mixing.encoder:
        product = _product(layer, product)
    return product


def _product(shares: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return shares @ below. A NaN row of `below` affects only the result rows that give it a nonzero share."""
    product = shares @ np.nan_to_num(below, nan=0.0)
    product[(shares > 0) @ np.isnan(below).any(axis=-1)] = np.nan
    return product
