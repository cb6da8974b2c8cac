"""Chooses the head of a kind to look at first: the one that shows most on one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from transformer.analysis.heads.expectation import aligning, alignment_expectation
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import ROUNDING, head_names
from transformer.analysis.view import view_of
from transformer.values.trace import Trace

# Names that say what a self-attention head does with the words of this sentence, plainest first. Each has the metric
# that measures how strongly a head does it. Heads that attend to the end symbol or to punctuation do nothing useful
# (Clark et al. 2019, section 3.2), so their names are left out.
TELLING: Mapping[str, str] = {
    "previous token": "previous",
    "next token": "next",
    "same token": "same",
    "rare word": "strongest_rarest",
}
ALIGNMENT = "alignment"
# A head with more than this share of its attention on the first token and the end symbol rests there.
RESTING = 0.5


@dataclass(frozen=True)
class TellingHead:
    """A head to look at first.

    Attributes:
        layer, head: which, counted from 0.
        name: what it does; empty if no head of the kind has a telling name here.
        confidence: mean largest weight of a query, start and end symbols left out; NaN if no query has one.
        rests: whether it rests on the first token and the end symbol, as all heads of the kind do.
    """

    layer: int
    head: int
    name: str
    confidence: float
    rests: bool = False


# Cached, because several parts of a page need the same one.
_FOUND: WeakKeyDictionary[HeadMetrics, TellingHead] = WeakKeyDictionary()


def telling_head(trace: Trace, metrics: HeadMetrics) -> TellingHead:
    """The head to look at first, found once for the metrics of a sentence.

    In cross-attention it is the alignment head that agrees best with all alignment heads together: the one whose
    strongest links, of the steps that write a word, have the largest mean weight in the mean of their maps. In
    self-attention heads do different things. There, names count in the order of `TELLING`, and the head that does it
    most is shown. If no head has such a name, it is the most confident one that does not rest. Among equally good heads
    it is the most confident one; other ties go to the first layer and head. A sentence in which no query has a
    confidence is shown at the first head.

    tests/unit/analysis/heads/test_telling_over_sentences.py measures this on the 200 sentences of assets/sentences.txt.
    94% of the links of the opened head of cross-attention are those of all its alignment heads together. 81% are those
    of erasure. The surest head that aligns the most words, at either step, has 61% and 52%. The mean of all heads of
    self-attention is not a suitable judge: its strongest link is a neighbour.

    Args:
        trace: of a run.
        metrics: of its heads, which say the kind.
    """
    found = _FOUND.get(metrics)
    if found is None:
        found = _FOUND.setdefault(metrics, _telling_head(trace, metrics))
    return found


def _telling_head(trace: Trace, metrics: HeadMetrics) -> TellingHead:
    confidence = metrics.values["confidence"]
    if metrics.kind == "cross":
        view = view_of(trace, "cross")
        expected = alignment_expectation(view, metrics)
        if expected is not None:
            heads, _ = aligning(metrics)
            return _best(confidence, np.where(heads, expected.support(view.weights), -1.0), ALIGNMENT)
    names, end = head_names(metrics), metrics.values.get("end", np.zeros_like(confidence))
    for name, share in TELLING.items():
        named = np.array([[name in head for head in layer] for layer in names])
        if named.any():
            # In a short sentence, a name may result from few queries, and most of the attention may be elsewhere.
            score = np.where(named & (metrics.values[share] > RESTING) & (end <= RESTING), metrics.values[share], -1.0)
            if (score > 0).any():
                return _best(confidence, score, name)
    resting = metrics.values["first"] + end > RESTING
    rest = bool(resting.all())
    return _best(confidence, np.where(resting & ~rest, 0.0, 1.0), "", rests=rest)


def _best(confidence: np.ndarray, score: np.ndarray, name: str, *, rests: bool = False) -> TellingHead:
    """The most confident of the heads with the highest score."""
    known = np.where(score >= score.max() - ROUNDING, np.nan_to_num(confidence, nan=0.0), -1.0)
    layer, head = map(int, np.unravel_index(known.argmax(), known.shape))
    return TellingHead(layer, head, name, float(confidence[layer, head]), rests)
