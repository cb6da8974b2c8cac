"""Where to look first: the head of a kind that has the most to show on one sentence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import head_names

# Names that say what a head does with the words of this sentence, the plainest first. A head that attends to the end
# symbol or to punctuation has nothing to do (Clark et al. 2019, section 3.2), so those names are no reason to look.
TELLING = ("alignment", "previous piece", "next piece", "same piece", "rare word")
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
    """The head to look at first: the most confident one with a name, else the most confident one that does not rest.

    Names count in the order of `TELLING`. Ties go to the first layer and head; a sentence in which no query has a
    confidence is shown at the first head.
    """
    confidence = metrics.values["confidence"]
    names = head_names(metrics)
    for name in TELLING:
        named = np.array([[name in head for head in layer] for layer in names])
        if named.any():
            return _most_confident(confidence, named, name)
    resting = metrics.values["first"] + metrics.values.get("end", np.zeros_like(confidence)) > RESTING
    return _most_confident(confidence, ~resting if (~resting).any() else np.ones_like(resting), "")


def _most_confident(confidence: np.ndarray, among: np.ndarray, name: str) -> TellingHead:
    known = np.where(among, np.nan_to_num(confidence, nan=0.0), -1.0)
    layer, head = map(int, np.unravel_index(known.argmax(), known.shape))
    return TellingHead(layer, head, name, float(confidence[layer, head]))
