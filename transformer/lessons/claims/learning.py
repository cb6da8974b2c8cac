"""Claims about how the model was trained, based on the learning curve in the model's folder."""

import csv
import math

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import Evidence

# A larger loss, in nats per token, means that training diverged. Even a uniform guess has a lower loss, whatever the
# vocabulary size.
MAX_LOSS = 100.0


@claim("loss", "even", "vocabulary", "difference")
def loss_at_start(evidence: Evidence, vocabulary: int = 0) -> Finding:
    """The first recorded loss is about ln V, because the model still guesses evenly among all V tokens.

    Args:
        vocabulary: V, if training began with a different vocabulary size; 0 uses the model's current one.
    """
    if vocabulary < 0:
        raise LessonError(f"vocabulary is {vocabulary:,}: use a positive number, or 0 for the model's own size")
    _, loss = _column(evidence, "training_loss")[0]
    vocabulary = vocabulary or evidence.runs.config.target_vocabulary
    even = math.log(vocabulary)
    return finding(abs(loss - even) < 1.5, loss=loss, even=even, vocabulary=vocabulary, difference=abs(loss - even))


@claim("start", "end", "choices_start", "choices_end", "steps")
def loss_fell(evidence: Evidence, until: int = 0) -> Finding:
    """The loss on held-out sentences fell to less than half of its first value.

    Args:
        until: last training step to include; 0 includes all steps. Losses before and after a vocabulary change cannot
            be compared.
    """
    _, losses = recorded_losses(evidence, until)
    start, end = losses[0][1], losses[-1][1]
    if max(start, end) > MAX_LOSS:
        raise LessonError(f"the learning curve has a loss of {max(start, end):.4g} nats per token: training diverged")
    return finding(
        end < start / 2,
        start=start,
        end=end,
        choices_start=math.exp(start),
        choices_end=math.exp(end),
        steps=losses[-1][0],
    )


@claim("step", "fraction", "best", "reached", "steps")
def learned_early(evidence: Evidence, share: float = 0.9) -> Finding:
    """In the first half of training, the model reached at least `share` times its best chrF."""
    if not 0 < share < 1:
        raise LessonError(f"share must be between 0 and 1, not {share:g}")
    scores = recorded_scores(evidence)
    best, steps = max(score for _, score in scores), scores[-1][0]
    if best <= 0:
        raise LessonError("the learning curve has no chrF above 0: the model has not learned to translate")
    step, reached = next((step, score) for step, score in scores if score >= share * best)
    return finding(step < steps / 2, step=step, fraction=step / max(steps, 1), best=best, reached=reached, steps=steps)


def recorded_losses(evidence: Evidence, until: int) -> tuple[tuple[int, float], list[tuple[int, float]]]:
    """Return (step, loss) pairs: the first training loss, and all held-out losses up to step `until` (0 for no limit).

    Raises:
        LessonError: the learning curve has no training loss, or no held-out loss up to step `until`.
    """
    losses = [(step, loss) for step, loss in _column(evidence, "validation_loss") if not until or step <= until]
    if not losses:
        raise LessonError(f"the learning curve has no loss on held-out sentences up to step {until:,}")
    return _column(evidence, "training_loss")[0], losses


def recorded_scores(evidence: Evidence) -> list[tuple[int, float]]:
    """Return a (step, chrF) pair for each evaluation on held-out sentences.

    Raises:
        LessonError: the learning curve has no chrF.
    """
    return _column(evidence, "validation_chrf")


def _column(evidence: Evidence, name: str) -> list[tuple[int, float]]:
    """Return (step, value) pairs from one column of the learning curve, skipping rows without a value.

    Raises:
        LessonError: no row has a value in this column.
    """
    rows = csv.DictReader(evidence.runs.curve.splitlines())
    values = [(int(float(row["step"])), float(row[name])) for row in rows if row.get(name)]
    if not values:
        raise LessonError(f"the model has no learning curve, or the curve has no values in the column {name}")
    return values
