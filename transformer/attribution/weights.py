"""Attention weights as an attribution: what every other method is compared with.

A weight says where a head looks, not what it takes from there (Jain and Wallace 2019, "Attention is not Explanation").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Attribution, Target, shares
from transformer.attribution.mixing import Mixing
from transformer.values.trace import Trace


def weights(trace: Trace, targets: Sequence[Target]) -> Attribution:
    """Means over all layers and heads: of cross-attention over the source, of self-attention over the prefix."""
    source, prefix = (trace.attention(kind).mean(axis=(0, 1), dtype=np.float64) for kind in ("cross", "decoder"))
    return shares("weights", trace, targets, source, prefix)


def mixing_by_weights(trace: Trace) -> Mixing:
    """Half the mean weights of the heads, half the residual connection (Abnar and Zuidema 2020, section 4)."""
    encoder, decoder, cross = (
        trace.attention(kind).mean(axis=1, dtype=np.float64) / 2 for kind in ("encoder", "decoder", "cross")
    )
    return Mixing(
        encoder=encoder + np.eye(encoder.shape[-1]) / 2,
        decoder=decoder + np.eye(decoder.shape[-1]) / 2,
        cross=cross,
        residual=np.full(cross.shape[:2], 0.5),
    )
