"""Claims about what mattered for a word: whether where the model looks names the word that it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.analysis.words import has_word, word_groups
from transformer.attribution.attribution import Target, piece_groups
from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim
from transformer.lessons.evidence import Evidence, name

# Nats more that hiding the needed word must cost: e times.
CLEAR = 1.0


@dataclass(frozen=True)
class Named:
    """The English words that two methods name for a German one.

    Attributes:
        word: the German one.
        probability: of it.
        looked_at: the English one with the largest mean weight over all layers and heads.
        weight: of it.
        cost: of hiding it, nats of the German word's log-probability.
        needed: the English one that costs most when it is hidden (erasure).
        needed_cost: of hiding it.
    """

    word: str
    probability: float
    looked_at: str
    weight: float
    cost: float
    needed: str
    needed_cost: float

    @property
    def agree(self) -> bool:
        return self.looked_at == self.needed


@claim("same", "words", "share", "word", "looked_at", "weight", "needed", "factor", "times_less")
def looked_at_and_needed(evidence: Evidence) -> Finding:
    """For some German word, the English word looked at most is not the one that it needs most."""
    found = named_words(evidence)
    apart = max(found, key=lambda one: 0.0 if one.agree else one.needed_cost - one.cost)
    same = sum(one.agree for one in found)
    return Finding(not apart.agree and apart.needed_cost - apart.cost > CLEAR, {
        "same": same, "words": len(found), "share": same / len(found), "word": apart.word,
        "looked_at": apart.looked_at, "weight": apart.weight, "needed": apart.needed,
        "factor": float(np.exp(-apart.cost)), "times_less": float(np.exp(apart.needed_cost)),
    })


def named_words(evidence: Evidence) -> list[Named]:
    """What attention weights and erasure name for each German word of the translation, in order.

    Raises:
        LessonError: the sentence or its translation has no word.
    """
    trace = evidence.trace(details=True)
    pieces, text = trace.predicted_pieces, trace.target_text
    groups = [group for group in word_groups(pieces, text) if has_word(group, pieces, text)]
    source, _ = piece_groups(trace, words=True)
    columns = [at for at, group in enumerate(source) if not trace.source_pieces[group[0]].special]
    if not groups or not columns:
        raise LessonError("a sentence without a word has no word that mattered")
    english = [name([trace.source_pieces[at] for at in source[column]], trace.source_text) for column in columns]
    targets = [Target(group) for group in groups]
    weights, costs = (
        evidence.runs.attribute(trace, method, targets, words=True).source[:, columns]
        for method in ("weights", "erasure")
    )
    return [
        Named(
            name([pieces[at] for at in group], text),
            float(np.exp(trace.log_probs[list(group)].sum())),
            english[looked], float(weight[looked]), float(cost[looked]), english[needed], float(cost[needed]),
        )
        for group, weight, cost in zip(groups, weights, costs, strict=True)
        for looked, needed in [(int(weight.argmax()), int(cost.argmax()))]
    ]
