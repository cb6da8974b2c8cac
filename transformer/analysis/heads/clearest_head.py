"""Chooses the most informative head of an attention kind for a sentence, to be shown first."""

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from transformer.analysis.heads.expectation import alignment_expectation, alignment_heads
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import ROUNDING, head_names
from transformer.analysis.view import view_of
from transformer.values.trace import Trace

# Head names that describe what a self-attention head does with words, simplest first, each with the metric behind the
# name. Heads that attend to the end symbol or to punctuation count as idle (Clark et al. 2019, section 3.2), so their
# names are not included.
INFORMATIVE_NAMES: Mapping[str, str] = {
    "previous token": "previous",
    "next token": "next",
    "same token": "same",
    "rare word": "strongest_rarest",
}
ALIGNMENT = "alignment"
# A head is idle if more than this share of its attention is on the first token and the end symbol.
RESTING_SHARE = 0.5


@dataclass(frozen=True)
class ClearestHead:
    """The head to show first.

    Attributes:
        layer, head: 0-based layer and head.
        name: what the head does, such as "previous token"; empty if no head has a suitable name on this sentence.
        confidence: a query's largest weight, not counting start and end symbols, averaged over queries; NaN if
            undefined.
        is_resting: whether all heads of the attention kind, including this one, attend mostly to the first token and
            the end symbol.
    """

    layer: int
    head: int
    name: str
    confidence: float
    is_resting: bool = False


# The head chosen for each `HeadMetrics`, cached because several parts of a page need it.
_CHOSEN: WeakKeyDictionary[HeadMetrics, ClearestHead] = WeakKeyDictionary()


def clearest_head(trace: Trace, metrics: HeadMetrics) -> ClearestHead:
    """Choose the head to show first for one attention kind.

    In cross-attention, choose the alignment head that agrees best with the mean map of all alignment heads. Agreement
    is the weight that the mean map gives to the head's strongest links, averaged over the steps that write a word.

    In self-attention, heads do different things. Each name in `INFORMATIVE_NAMES` has a metric. A head with a name is
    eligible under two conditions. Its value of the name's metric is above one half, and at most half of its attention
    is on the end symbol. For the first name with an eligible head, choose the eligible head with the largest value of
    this metric. If no head is eligible, choose the most confident head that is not idle. Ties go to the most confident
    head, then to the first.

    tests/unit/analysis/heads/test_clearest_on_sentences.py evaluates this choice on the 200 sentences in
    assets/sentences.txt. In cross-attention, 94% of the chosen head's links match those of all alignment heads
    together, and 81% match attribution by erasure. For the head that aligns the most tokens, the figures would be 61%
    and 52%. In self-attention, the mean of all heads would be a poor reference, because its strongest link is always a
    neighbour.

    Args:
        trace: trace of a model run.
        metrics: metrics of the trace's heads, for the attention kind to choose from.
    """
    head = _CHOSEN.get(metrics)
    if head is None:
        head = _CHOSEN.setdefault(metrics, _find_clearest_head(trace, metrics))
    return head


def _find_clearest_head(trace: Trace, metrics: HeadMetrics) -> ClearestHead:
    confidence = metrics.values["confidence"]
    if metrics.kind == "cross":
        view = view_of(trace, "cross")
        expected = alignment_expectation(view, metrics)
        if expected is not None:
            heads, _ = alignment_heads(metrics)
            return _best(confidence, np.where(heads, expected.support(view.weights), -1.0), ALIGNMENT)
    names, end = head_names(metrics), metrics.values.get("end", np.zeros_like(confidence))
    for name, share in INFORMATIVE_NAMES.items():
        has_name = np.array([[name in head for head in layer] for layer in names])
        if has_name.any():
            # In a short sentence, a head can earn a name from only a few queries. Therefore, the name's metric must
            # also exceed one half.
            score = np.where(
                has_name & (metrics.values[share] > RESTING_SHARE) & (end <= RESTING_SHARE), metrics.values[share], -1.0
            )
            if (score > 0).any():
                return _best(confidence, score, name)
    resting = metrics.values["first"] + end > RESTING_SHARE
    rest = bool(resting.all())
    return _best(confidence, np.where(resting & ~rest, 0.0, 1.0), "", is_resting=rest)


def _best(confidence: np.ndarray, score: np.ndarray, name: str, *, is_resting: bool = False) -> ClearestHead:
    """Choose the most confident of the heads with the highest score."""
    candidates = np.where(score >= score.max() - ROUNDING, np.nan_to_num(confidence, nan=0.0), -1.0)
    layer, head = map(int, np.unravel_index(candidates.argmax(), candidates.shape))
    return ClearestHead(layer, head, name, float(confidence[layer, head]), is_resting)
