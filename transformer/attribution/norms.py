"""Attribution by the lengths of the vectors that attention adds up.

For the layer: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms",
section 3. Heads may cancel each other. Kobayashi et al. 2021, "Incorporating Residual and Normalization Layers into
Analysis of Masked Language Models", adds the residual connection and the layer normalisation that follows it. In a
pre-norm layer no normalisation follows the sum, so only the residual connection is added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.attribution.attribution import Attribution, Explained, Target, shares
from transformer.attribution.mixing import Mixing
from transformer.attribution.transformed import Transformed, mixing_of
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


def norms(run: Explained, targets: Sequence[Target]) -> Attribution:
    """Shares of each row in the sum of its lengths, averaged over the layers; the trace has details."""
    source, prefix = (_mean_shares(run.trace, run.weights, kind) for kind in ("cross", "decoder"))
    return shares("norms", run.trace, targets, source, prefix)


def mixing_by_norms(trace: Trace, weights: Weights) -> Mixing:
    """Shares of the lengths of the transformed vectors, residual connection included; the trace has details."""
    return mixing_of(trace, weights, norm_shares)


def norm_shares(transformed: Transformed) -> np.ndarray:
    """The share of each vector in the sum of the lengths of its row, [R, C]."""
    return _normalised(np.linalg.norm(transformed.vectors, axis=-1))


def _mean_shares(trace: Trace, weights: Weights, kind: Kind) -> np.ndarray:
    layers = range(len(trace.attention(kind)))
    return np.mean([_normalised(contributions(trace, weights, kind, layer).layer_norms()) for layer in layers], axis=0)


def _normalised(lengths: np.ndarray) -> np.ndarray:
    total = lengths.sum(axis=-1, keepdims=True)
    return np.divide(lengths, total, out=np.zeros_like(lengths), where=total > 0)
