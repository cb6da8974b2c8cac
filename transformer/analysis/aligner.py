"""Finds the cross-attention heads of a model that align target tokens with source tokens best.

They align a target token either at the step that predicts the token or at the next step, where the token is the input.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics

Step = Literal["predicted", "read"]
STEPS: tuple[Step, ...] = ("predicted", "read")
# An alignment head aligns more than this fraction of the target tokens.
MIN_ALIGNED_SHARE = 0.5


@dataclass(frozen=True)
class Aligner:
    """Heads of one cross-attention layer whose mean attention aligns words.

    The best layer and step differ between models (Chen et al. 2020, "Accurate Word Alignment Induction from Neural
    Machine Translation", section 4).

    Attributes:
        layer: 0-based layer of the heads.
        heads: 0-based heads, best first.
        step: decoding step that aligns a target token. "predicted" is the step that predicts the token. "read" is the
            next step, which reads the token as input.
        agreement: fraction of target tokens, 0 to 1, for which the best head and the mean of all the model's
            cross-attention heads produce the same link.
        tokens: number of target tokens over which `agreement` was measured.
    """

    layer: int
    heads: tuple[int, ...]
    step: Step
    agreement: float
    tokens: int

    def __str__(self) -> str:
        heads = " and ".join(str(head + 1) for head in self.heads)
        reads = "reads" if self.step == "read" else "predicts"
        which = f"layer {self.layer + 1}, {'head' if len(self.heads) == 1 else 'heads'} {heads}"
        return f"cross-attention {which}, at the step that {reads} the target token"


def find_aligner(metrics: HeadMetrics) -> Aligner | None:
    """Choose a model's alignment heads from cross-attention metrics averaged over many sentences.

    The head that agrees best with the mean of all heads determines both the layer and the step (one of STEPS) that
    aligns a token: the step that predicts the token or the step that reads it. Other heads in that layer are added if
    they align more than half of the target tokens at that step.

    Returns:
        The heads and the step, or None if no head aligns more than half of the target tokens.
    """
    agreement = np.stack([np.nan_to_num(metrics.values[f"alignment_{step}"]) for step in STEPS])
    best = float(agreement.max())
    if best <= MIN_ALIGNED_SHARE:
        return None
    at, layer, _ = (int(index) for index in np.unravel_index(agreement.argmax(), agreement.shape))
    row = agreement[at, layer]
    heads = tuple(int(head) for head in np.argsort(-row, kind="stable") if row[head] > MIN_ALIGNED_SHARE)
    return Aligner(layer, heads, STEPS[at], best, metrics.queries[f"alignment_{STEPS[at]}"])
