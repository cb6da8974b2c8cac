"""The results of a beam search: its hypotheses, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep
from transformer.values.translation import Fate


@dataclass(frozen=True)
class Hypothesis:
    """One translation, complete or not.

    Attributes:
        pieces: ids of the tokens taken, the end symbol included.
        score: sum of their log-probabilities, nats.
        penalised: score over the length penalty, which the search maximises.
        ended: False if the search was over before the end symbol.
        step, expansion: the step of its last token, and its index among that step's M expansions.
    """

    pieces: tuple[int, ...]
    score: float
    penalised: float
    ended: bool
    step: int
    expansion: int


def hypotheses(
    steps: Iterable[BeamStep], sentences: int, *, ended_first: bool = True
) -> tuple[tuple[Hypothesis, ...], ...]:
    """The hypotheses of each of a batch of `sentences`, best first: all that ended, then the unfinished ones.

    An unfinished hypothesis would have become longer, so its score cannot be compared with those that ended.

    Args:
        steps: the steps of one whole search.
        ended_first: False ranks all by their penalised scores, as `generate` does at the largest length.
    """
    results: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    taken: list[tuple[int, ...]] = [()] * sentences
    for number, step in enumerate(steps):
        columns = (step.sentence[step.parent], step.parent, step.predicted, step.score, step.penalised, step.fate)
        live = []
        for expansion, (sentence, parent, piece, score, penalised, fate) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if fate == Fate.PRUNED:
                continue
            pieces = (*taken[parent], piece)
            if fate == Fate.ALIVE:
                live.append(pieces)
            else:
                ended = fate == Fate.ENDED
                results[sentence].append(Hypothesis(pieces, score, penalised, ended, number, expansion))
        taken = live

    def order(each: Hypothesis) -> tuple[bool, float]:
        return ended_first and not each.ended, -each.penalised

    return tuple(tuple(sorted(of, key=order)) for of in results)
