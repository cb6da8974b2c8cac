"""Claims about whether a translated word needs the source words that it attends to."""

from dataclasses import dataclass

import numpy as np

from transformer.analysis.words import has_word, word_groups
from transformer.attribution.attribution import Target, token_groups, whole_sentence
from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import Evidence, name
from transformer.running.runs.attribution import AttributionRun
from transformer.running.runs.trace import TraceRun

NO_WORD_MESSAGE = "the sentence or its translation contains no word: choose another sentence"
# The most attended-to word counts as needed if it is among this many words with the largest erasure costs.
TOP_WORDS = 3
# Hiding the needed word must cost at least this much more than hiding the most attended-to word, in nats.
MIN_COST_MARGIN = 1.0


@dataclass(frozen=True)
class WordComparison:
    """Source words that matter most to one translated word, according to attention weights and to erasure.

    Attributes:
        word: the translated word.
        probability: probability of the translated word, 0 to 1.
        looked_at: source word with the largest attention weight, averaged over all layers and heads.
        weight: attention weight of `looked_at`, 0 to 1.
        cost: decrease in the translated word's log-probability when `looked_at` is hidden, nats.
        needed: source word that decreases this log-probability most when it is hidden (erasure).
        needed_cost: decrease in the translated word's log-probability when `needed` is hidden, nats.
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

    def without(self, cost: float) -> float:
        """Return the translated word's probability when a source word with erasure cost `cost` (nats) is hidden."""
        return self.probability * float(np.exp(-cost))


@dataclass(frozen=True, eq=False)
class SentenceComparison:
    """Attention weight and erasure cost of each source word, for the whole translation.

    Attributes:
        words: source words in sentence order; repeated words are numbered.
        weights: each word's attention weight, averaged over all layers, heads and steps, float64.
        costs: for each word, decrease in the translation's log-probability when the word is hidden, nats, float64.
    """

    words: tuple[str, ...]
    weights: np.ndarray
    costs: np.ndarray

    @property
    def looked_at(self) -> int:
        """Index of the word with the largest attention weight."""
        return int(self.weights.argmax())

    @property
    def order(self) -> list[int]:
        """Word indices, sorted by decreasing erasure cost."""
        return [int(at) for at in np.argsort(-self.costs, kind="stable")]


@claim(
    "same",
    "words",
    "share",
    "word",
    "looked_at",
    "weight",
    "needed",
    "factor",
    "times_less",
    "probability",
    "without_looked_at",
    "without_needed",
)
def looked_at_and_needed(evidence: Evidence) -> Finding:
    """For some German word, the English word with the most attention is not the one that matters most."""
    comparisons = compare_words(evidence)
    apart = max(
        comparisons, key=lambda comparison: 0.0 if comparison.agree else comparison.needed_cost - comparison.cost
    )
    same = sum(comparison.agree for comparison in comparisons)
    return finding(
        not apart.agree and apart.needed_cost - apart.cost > MIN_COST_MARGIN,
        same=same,
        words=len(comparisons),
        share=same / len(comparisons),
        word=apart.word,
        looked_at=apart.looked_at,
        weight=apart.weight,
        needed=apart.needed,
        factor=float(np.exp(-apart.cost)),
        times_less=float(np.exp(apart.needed_cost)),
        probability=apart.probability,
        without_looked_at=apart.without(apart.cost),
        without_needed=apart.without(apart.needed_cost),
    )


@claim("looked_at", "weight", "place", "words", "cost", "needed", "needed_weight", "needed_cost", "second")
def looked_at_is_not_needed(evidence: Evidence) -> Finding:
    """The English word with the most attention is not among the three that the translation needs most."""
    comparison = compare_for_sentence(evidence)
    looked, needed = comparison.looked_at, comparison.order[0]
    place = comparison.order.index(looked) + 1
    return finding(
        place > TOP_WORDS,
        looked_at=comparison.words[looked],
        weight=float(comparison.weights[looked]),
        place=place,
        words=len(comparison.words),
        cost=float(comparison.costs[looked]),
        needed=comparison.words[needed],
        needed_weight=float(comparison.weights[needed]),
        needed_cost=float(comparison.costs[needed]),
        second=comparison.words[comparison.order[min(1, len(comparison.order) - 1)]],
    )


def compare_words(evidence: Evidence) -> list[WordComparison]:
    """For each translated word, return the source words that matter most, by attention weights and by erasure.

    Raises:
        LessonError: the sentence or its translation contains no word.
    """
    trace = evidence.trace(details=True)
    tokens, text = trace.predicted_tokens, trace.target_text
    groups = [group for group in word_groups(tokens, text) if has_word(group, tokens, text)]
    if not groups:
        raise LessonError(NO_WORD_MESSAGE)
    english, weights, costs = _weights_and_costs(evidence, [Target(group) for group in groups])
    return [
        WordComparison(
            name([tokens[at] for at in group], text),
            float(np.exp(trace.log_probs[list(group)].sum())),
            english[looked],
            float(weight[looked]),
            float(cost[looked]),
            english[needed],
            float(cost[needed]),
        )
        for group, weight, cost in zip(groups, weights, costs, strict=True)
        for looked, needed in [(int(weight.argmax()), int(cost.argmax()))]
    ]


def compare_for_sentence(evidence: Evidence) -> SentenceComparison:
    """Return each source word's attention weight and erasure cost, for the whole translation.

    Raises:
        LessonError: the sentence contains no word.
    """
    english, weights, costs = _weights_and_costs(evidence, [whole_sentence(evidence.trace(details=True))])
    words = [
        word if word not in english[:index] else f"{word} ({english[: index + 1].count(word)})"
        for index, word in enumerate(english)
    ]
    return SentenceComparison(tuple(words), weights[0].astype(np.float64), costs[0].astype(np.float64))


def _weights_and_costs(evidence: Evidence, targets: list[Target]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """For each target, measure the mean attention to each source word and the cost of hiding the word.

    Returns:
        The source words; the mean attention (0 to 1), [targets, words]; and the costs in nats, [targets, words].

    Raises:
        LessonError: the sentence contains no word.
    """
    trace = evidence.trace(details=True)
    source, _ = token_groups(trace, words=True)
    columns = [index for index, group in enumerate(source) if not trace.source_tokens[group[0]].special]
    if not columns:
        raise LessonError(NO_WORD_MESSAGE)
    english = [name([trace.source_tokens[at] for at in source[column]], trace.source_text) for column in columns]
    weights, costs = (
        evidence.runs.get(AttributionRun(TraceRun(evidence.sentence), method, tuple(targets), True)).source[:, columns]
        for method in ("weights", "erasure")
    )
    return english, weights, costs
