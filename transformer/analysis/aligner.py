"""Finds the cross-attention heads that align words best, and the decoding step at which to read these heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics

Step = Literal["predicted", "read"]
STEPS: tuple[Step, ...] = ("predicted", "read")
# A head counts as an alignment head if it aligns more than this fraction of the target tokens.
MIN_ALIGNED_SHARE = 0.5


@dataclass(frozen=True)
class Aligner:
    """Heads of one cross-attention layer whose mean attention aligns words.

    The layer and the step that align best differ between models (Chen et al. 2020, "Accurate Word Alignment Induction
    from Neural Machine Translation", section 4).

    Attributes:
        layer: 0-based layer of the heads.
        heads: 0-based heads, best first.
        step: "predicted" if a target token is aligned by the step that predicts the token, "read" if by the next step,
            which reads the token.
        agreement: fraction of target tokens, 0 to 1, that the best head aligns in the same way as the mean of all
            heads.
        tokens: number of target tokens over which the agreement was measured.
    """

    layer: int
    heads: tuple[int, ...]
    step: Step
    agreement: float
    tokens: int


def find_aligner(metrics: HeadMetrics) -> Aligner | None:
    """Choose a model's alignment heads, given the metrics of its cross-attention over many sentences.

    The head that agrees best with the mean of all heads determines layer and step. Other heads in the layer are added
    if they align more than half of the tokens at that step.

    Returns:
        The heads and the step; None if no head aligns more than half of the tokens.
    """
    agreement = np.stack([np.nan_to_num(metrics.values[f"alignment_{step}"]) for step in STEPS])
    best = float(agreement.max())
    if best <= MIN_ALIGNED_SHARE:
        return None
    at, layer, _ = (int(index) for index in np.unravel_index(agreement.argmax(), agreement.shape))
    row = agreement[at, layer]
    heads = tuple(int(head) for head in np.argsort(-row, kind="stable") if row[head] > MIN_ALIGNED_SHARE)
    return Aligner(layer, heads, STEPS[at], best, metrics.queries[f"alignment_{STEPS[at]}"])
