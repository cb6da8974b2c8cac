"""Where to look first: the head of a kind that has the most to show on one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import ROUNDING, head_names

# Names that say what a head does with the words of this sentence, the plainest first, and the metrics that say how much
# of it a head does; the larger one counts. A head that attends to the end symbol or to punctuation has nothing to do
# (Clark et al. 2019, section 3.2), so those names are no reason to look.
TELLING: Mapping[str, tuple[str, ...]] = {
    "alignment": ("alignment_predicted", "alignment_read"), "previous piece": ("previous",), "next piece": ("next",),
    "same piece": ("same",), "rare word": ("strongest_rarest",),
}
# A head with more than this share of its attention on the first piece and the end symbol rests there.
RESTING = 0.5


@dataclass(frozen=True)
class TellingHead:
    """A head to look at first.

    Attributes:
        layer, head: which, counted from 0.
        name: what it does; empty if no head of the kind has a telling name here.
        confidence: mean largest weight of a query, start and end symbols left out; NaN if no query has one.
    """

    layer: int
    head: int
    name: str
    confidence: float


@lru_cache(maxsize=128)
def telling_head(metrics: HeadMetrics) -> TellingHead:
    """The head to look at first: the clearest one with a name, else the most confident one that does not rest.

    Names count in the order of `TELLING`. Where several are as clear it is the most confident of them; other ties go to
    the first layer and head. A sentence in which no query has a confidence is shown at the first head.
    """
    confidence = metrics.values["confidence"]
    names = head_names(metrics)
    for name, shares in TELLING.items():
        named = np.array([[name in head for head in layer] for layer in names])
        if named.any():
            share = np.where(named, np.fmax.reduce([metrics.values[each] for each in shares]), -1.0)
            return _most_confident(confidence, share >= share.max() - ROUNDING, name)
    resting = metrics.values["first"] + metrics.values.get("end", np.zeros_like(confidence)) > RESTING
    return _most_confident(confidence, ~resting if (~resting).any() else np.ones_like(resting), "")


def _most_confident(confidence: np.ndarray, among: np.ndarray, name: str) -> TellingHead:
    known = np.where(among, np.nan_to_num(confidence, nan=0.0), -1.0)
    layer, head = map(int, np.unravel_index(known.argmax(), known.shape))
    return TellingHead(layer, head, name, float(confidence[layer, head]))
