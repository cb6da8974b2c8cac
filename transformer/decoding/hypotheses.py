"""The results of a beam search: its hypotheses, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep
from transformer.values.translation import HypothesisState


@dataclass(frozen=True)
class Hypothesis:
    """One translation, complete or not.

    Attributes:
        pieces: ids of the tokens taken, the end symbol included.
        log_prob: sum of the model's log-probabilities of them, nats.
        score: as in `BeamStep`; the same, unless an imported model's search changes scores.
        penalised: score over the length penalty, which the search maximises.
        ended: False if the search was over before the end symbol.
        step, expansion: the step of its last token, and its index among that step's M expansions.
    """

    pieces: tuple[int, ...]
    log_prob: float
    score: float
    penalised: float
    ended: bool
    step: int
    expansion: int


def hypotheses(
    steps: Iterable[BeamStep], sentences: int, *, limit: int | None = None
) -> tuple[tuple[Hypothesis, ...], ...]:
    """The hypotheses of each of a batch of `sentences`, best first: all that ended, then the unfinished ones.

    An unfinished hypothesis would have become longer, so its score cannot be compared with those that ended.

    Args:
        steps: the steps of one whole search.
        limit: the largest length, if unfinished hypotheses of this length rank among those that ended, as in
            `generate`.
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
        for expansion, (sentence, parent, piece, log_prob, score, penalised, fate) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if fate == HypothesisState.PRUNED:
                continue
            before, sum_before = taken[parent]
            pieces, log_prob = (*before, piece), sum_before + log_prob
            if fate == HypothesisState.ALIVE:
                live.append((pieces, log_prob))
            else:
                ended = fate == HypothesisState.ENDED
                results[sentence].append(Hypothesis(pieces, log_prob, score, penalised, ended, number, expansion))
        taken = live

    def order(each: Hypothesis) -> tuple[bool, float]:
        return not each.ended and len(each.pieces) != limit, -each.penalised

    return tuple(tuple(sorted(of, key=order)) for of in results)
