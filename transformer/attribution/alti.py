"""ALTI+: rates each summand of a layer by how close it is to the sum, then rolls out the layers.

Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer", section 3 (ALTI), and
"Towards Opening the Black Box of Neural Machine Translation: Source and Target Interpretations of the Transformer",
section 3 (ALTI+).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Attribution, Explained, Target, shares
from transformer.attribution.mixing import Mixing
from transformer.attribution.rollout import roll_out
from transformer.attribution.transformed import Transformed, mixing_of
from transformer.values.trace import Trace
from transformer.values.weights import Weights


def alti(run: Explained, targets: Sequence[Target]) -> Attribution:
    """Return the rollout of `mixing_by_proximity` for a trace with details."""
    source, prefix = roll_out(mixing_by_proximity(run.trace, run.weights))
    return shares("alti", run.trace, targets, source, prefix)


def mixing_by_proximity(trace: Trace, weights: Weights) -> Mixing:
    """Apply `proximity_shares` to every attention layer of a trace with details."""
    return mixing_of(trace, weights, proximity_shares)


def proximity_shares(transformed: Transformed) -> np.ndarray:
    """Return each vector's share of its row's sum y, [R, C]: c = max(0, |y| - |y - T|) in the 1-norm, over the row's
    sum of c.

    If no vector of a row is closer to the sum than the zero vector is, all shares of the row are NaN.
    """
    output = transformed.output
    distances = np.stack([abs(output - vectors).sum(axis=-1) for vectors in transformed.vectors.swapaxes(0, 1)], axis=1)
    nearer = np.maximum(abs(output).sum(axis=-1, keepdims=True) - distances, 0)
    total = nearer.sum(axis=1, keepdims=True)
    return np.divide(nearer, total, out=np.full_like(nearer, np.nan), where=total > 0)
