"""Finds the heads of cross-attention that align words best, and the step at which to read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics

Step = Literal["predicted", "read"]
STEPS: tuple[Step, ...] = ("predicted", "read")
# A head is named an alignment head if it aligns at least this share of the target tokens.
ALIGNS = 0.5


@dataclass(frozen=True)
class Aligner:
    """Heads of one cross-attention layer whose mean attention aligns words.

    Which layer aligns, and at which step, differs between models (Chen et al. 2020, "Accurate Word Alignment Induction
    from Neural Machine Translation", section 4).

    Attributes:
        layer: from 0.
        heads: from 0; the best first.
        step: "predicted" if a target token is aligned by the step that predicts it; "read" if by the next step, which
            reads the token.
        agreement: share of target tokens, 0 to 1, that the best head aligns in the same way as the mean of all heads.
        pieces: number of target tokens over which this share was measured.
    """

    layer: int
    heads: tuple[int, ...]
    step: Step
    agreement: float
    pieces: int


def find_aligner(metrics: HeadMetrics) -> Aligner | None:
    """Choose the alignment heads of a model from the metrics of its cross-attention over many sentences.

    The head that agrees best with the mean of all heads determines the layer and the step. Other heads of that layer
    join it if they align more than half of the tokens at that step.

    Returns:
        None if no head aligns more than half of the tokens.
    """
    agreement = np.stack([np.nan_to_num(metrics.values[f"alignment_{step}"]) for step in STEPS])
    best = float(agreement.max())
    if best <= ALIGNS:
        return None
    at, layer, _ = (int(index) for index in np.unravel_index(agreement.argmax(), agreement.shape))
    row = agreement[at, layer]
    heads = tuple(int(head) for head in np.argsort(-row, kind="stable") if row[head] > ALIGNS)
    return Aligner(layer, heads, STEPS[at], best, metrics.queries[f"alignment_{STEPS[at]}"])
