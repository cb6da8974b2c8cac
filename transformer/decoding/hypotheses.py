"""Collects and ranks the final hypotheses of a beam search."""

from collections.abc import Iterable
from dataclasses import dataclass

from transformer.decoding.beam import BeamStep
from transformer.values.translation import HypothesisState


@dataclass(frozen=True)
class Hypothesis:
    """A final hypothesis of a beam search: a translation with or without its end symbol.

    Attributes:
        tokens: token ids, including any end symbol.
        log_prob: sum of the tokens' log-probabilities, nats.
        score: as in `BeamStep`; equals `log_prob` unless an imported model's `generate` settings modify scores.
        penalised: the quantity that the search maximises, which is `score` divided by the length penalty.
        ended: False if the search stopped before the hypothesis reached the end symbol.
        step, expansion: index of the step that added the last token, and of the expansion within that step.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    penalised: float
    ended: bool
    step: int
    expansion: int


def hypotheses(
    steps: Iterable[BeamStep], batch_size: int, *, limit: int | None = None
) -> tuple[tuple[Hypothesis, ...], ...]:
    """Return each sentence's final hypotheses: the ended ones, then the unfinished ones, each group best first.

    Scores of ended and unfinished hypotheses are not comparable, because further tokens would still change the score
    of an unfinished one.

    Args:
        steps: all steps of one search.
        batch_size: number of sentences in the batch.
        limit: maximum length of a hypothesis. If given, unfinished hypotheses of this length are ranked together with
            the ended ones, as in `generate`.
    """
    results: list[list[Hypothesis]] = [[] for _ in range(batch_size)]
    taken: list[tuple[tuple[int, ...], float]] = [((), 0.0)] * batch_size
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
