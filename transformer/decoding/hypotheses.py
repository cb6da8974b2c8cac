"""What a beam search came to: the hypotheses that ended, best first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep, Fate


@dataclass(frozen=True)
class Hypothesis:
    """One way to continue from the start symbol, as far as the search went.

    Attributes:
        pieces: ids of the pieces taken, the end symbol included.
        score: sum of their log-probabilities, nats.
        penalised: score over the length penalty: what the search maximises.
        ended: False if the search was over before the end symbol.
        step, expansion: where it stands: at `expansion` of the M of this step.
    """

    pieces: tuple[int, ...]
    score: float
    penalised: float
    ended: bool
    step: int
    expansion: int


def hypotheses(steps: Iterable[BeamStep], sentences: int) -> tuple[tuple[Hypothesis, ...], ...]:
    """The hypotheses of each of a batch of `sentences`, best first: all that ended, then the unfinished ones.

    An unfinished one is shorter than it will be, so that its score cannot be compared with those that ended.

    Args:
        steps: of one whole search. Only the pieces taken are kept of each.
    """
    found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    taken: list[tuple[int, ...]] = [()] * sentences
    for number, step in enumerate(steps):
        columns = (step.sentence[step.parent], step.parent, step.predicted, step.score, step.penalised, step.fate)
        going_on = []
        for expansion, (sentence, parent, piece, score, penalised, fate) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if fate == Fate.PRUNED:
                continue
            pieces = (*taken[parent], piece)
            if fate == Fate.KEPT:
                going_on.append(pieces)
            else:
                ended = fate == Fate.ENDED
                found[sentence].append(Hypothesis(pieces, score, penalised, ended, number, expansion))
        taken = going_on
    return tuple(tuple(sorted(of, key=lambda each: (not each.ended, -each.penalised))) for of in found)
