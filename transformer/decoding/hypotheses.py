"""Collects the hypotheses of a beam search, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep
from transformer.values.translation import HypothesisState


@dataclass(frozen=True)
class Hypothesis:
    """One translation, complete or not.

    Attributes:
        tokens: ids of the tokens taken, including the end symbol.
        log_prob: sum of the model's log-probabilities of these tokens, nats.
        score: as in `BeamStep`; equal to `log_prob`, unless an imported model's search changes scores.
        penalised: score divided by the length penalty, which the search maximises.
        ended: False if the search ended before the hypothesis had its end symbol.
        step, expansion: the step of its last token, and its index among that step's M expansions.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    penalised: float
    ended: bool
    step: int
    expansion: int


def hypotheses(
    steps: Iterable[BeamStep], sentences: int, *, limit: int | None = None
) -> tuple[tuple[Hypothesis, ...], ...]:
    """The hypotheses of each of `sentences` sentences, best first: all that ended, then the unfinished ones.

    An unfinished hypothesis would have become longer, so its score cannot be compared with those that ended.

    Args:
        steps: all steps of one search.
        limit: maximum length of a hypothesis. If it is given, unfinished hypotheses of this length rank among those
            that ended, as in `generate`.
    """
    results: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    taken: list[tuple[tuple[int, ...], float]] = [((), 0.0)] * sentences
    for number, step in enumerate(steps):
        columns = (
            step.sentence[step.parent],
            step.parent,
            step.predicted,
            step.log_prob,
            step.score,
            step.penalised,
            step.fate,
        )
        live = []
        for expansion, (sentence, parent, token, log_prob, score, penalised, fate) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if fate == HypothesisState.PRUNED:
                continue
            before, sum_before = taken[parent]
            tokens, log_prob = (*before, token), sum_before + log_prob
            if fate == HypothesisState.ALIVE:
                live.append((tokens, log_prob))
            else:
                ended = fate == HypothesisState.ENDED
                results[sentence].append(Hypothesis(tokens, log_prob, score, penalised, ended, number, expansion))
        taken = live

    def order(each: Hypothesis) -> tuple[bool, float]:
        return not each.ended and len(each.tokens) != limit, -each.penalised

    return tuple(tuple(sorted(of, key=order)) for of in results)
