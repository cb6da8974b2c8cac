"""Attention weights as an attribution method, the baseline for all other methods.

A weight shows where a head attends, but not what information the head reads there (Jain and Wallace 2019, "Attention
is not Explanation").
"""

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_shares
from transformer.attribution.mixing import Mixing
from transformer.values.trace import Trace


def weights(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Average the weights over layers and heads: cross-attention for the source, self-attention for the prefix."""
    source, prefix = (run.trace.attention(kind).mean(axis=(0, 1), dtype=np.float64) for kind in ("cross", "decoder"))
    return attribution_of_shares("weights", run.trace, targets, source, prefix)


def mixing_by_weights(trace: Trace) -> Mixing:
    """Mix the mean attention weights and the residual connection in equal parts (Abnar and Zuidema 2020, section 4)."""
    encoder, decoder, cross = (
        trace.attention(kind).mean(axis=1, dtype=np.float64) / 2 for kind in ("encoder", "decoder", "cross")
    )
    return Mixing(
        encoder=encoder + np.eye(encoder.shape[-1]) / 2,
        decoder=decoder + np.eye(decoder.shape[-1]) / 2,
        cross=cross,
        residual=np.full(cross.shape[:2], 0.5),
    )
