"""Attribution by vector norms: the length of the vector that each position adds to an attention layer's output.

Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms", section 3.
The vectors of all heads are added before the norm is taken, so opposite vectors cancel out.
"""

from collections.abc import Sequence

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_shares
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


def norms(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Compute vector norms, divided by their sum in each row and averaged over layers.

    The trace must have been computed with `details=True`.
    """
    source, prefix = (_mean_shares(run.trace, run.weights, kind) for kind in ("cross", "decoder"))
    return attribution_of_shares("norms", run.trace, targets, source, prefix)


def _mean_shares(trace: Trace, weights: Weights, kind: Kind) -> np.ndarray:
    layers = range(len(trace.attention(kind)))
    return np.mean([_normalised(contributions(trace, weights, kind, layer).layer_norms()) for layer in layers], axis=0)


def _normalised(lengths: np.ndarray) -> np.ndarray:
    total = lengths.sum(axis=-1, keepdims=True)
    return np.divide(lengths, total, out=np.zeros_like(lengths), where=total > 0)
