"""ALTI+ attribution: the closer a vector is to the sum of all vectors in a layer, the more it contributes.

Sources: Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer", section 3 (ALTI),
and "Towards Opening the Black Box of Neural Machine Translation: Source and Target Interpretations of the Transformer",
section 3 (ALTI+).
"""

from collections.abc import Sequence

import numpy as np

from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_shares
from transformer.attribution.mixing import Mixing
from transformer.attribution.rollout import roll_out
from transformer.attribution.transformed import TransformedVectors, mixing_of
from transformer.values.trace import Trace
from transformer.values.weights import Weights


def alti(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Compute ALTI+ scores: the rollout of `mixing_by_proximity`. Requires a trace computed with `details=True`."""
    source, prefix = roll_out(mixing_by_proximity(run.trace, run.weights))
    return attribution_of_shares("alti", run.trace, targets, source, prefix)


def mixing_by_proximity(trace: Trace, weights: Weights) -> Mixing:
    """Compute the `proximity_shares` of every attention layer. Requires a trace computed with `details=True`."""
    return mixing_of(trace, weights, proximity_shares)


def proximity_shares(transformed: TransformedVectors) -> np.ndarray:
    """Return each vector's share of a row's sum, [R, C]: the closer the vector is to the sum, the larger the share.

    For a vector T and a sum y, the closeness is c = max(0, |y| - |y - T|) in the 1-norm. A share is c divided by the
    row's sum of c. All shares of a row are NaN if no vector is closer to y than the zero vector is.
    """
    output = transformed.output
    distances = np.stack([abs(output - vectors).sum(axis=-1) for vectors in transformed.vectors.swapaxes(0, 1)], axis=1)
    nearer = np.maximum(abs(output).sum(axis=-1, keepdims=True) - distances, 0)
    total = nearer.sum(axis=1, keepdims=True)
    return np.divide(nearer, total, out=np.full_like(nearer, np.nan), where=total > 0)
