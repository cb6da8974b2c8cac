"""Predicts the next token with a changed model, and lets it continue the translation from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.running.runs.trace import TraceRun
from transformer.running.translator import Translator
from transformer.values.interventions import Interventions
from transformer.values.run import Run, Stated
from transformer.values.trace import Trace
from transformer.values.translation import Translation


@dataclass(frozen=True, eq=False)
class Continuation:
    """One step of a translation, with and without interventions.

    Attributes:
        before: the translation as the model reads it as trained.
        after: the changed model reading the same translation.
        step: the position of the predicted token.
        written: text that the changed model writes after the tokens before it.
    """

    before: Trace
    after: Trace
    step: int
    written: Translation

    @property
    def step_change(self) -> np.ndarray:
        """Change of the log-probability of each token of the translation, nats [T]."""
        return self.after.log_probs - self.before.log_probs

    @property
    def next_pieces(self) -> tuple[int, int]:
        """Ids of the most likely token at the step, as trained and changed."""
        return int(self.before.candidate_ids[self.step, 0]), int(self.after.candidate_ids[self.step, 0])


@dataclass(frozen=True)
class RereadRun(Run[Trace]):
    """The result of `reread` for a translation.

    Attributes:
        trace: run that has the translation.
        interventions: interventions of the changed model.

    Raises: the errors of `TraceRun`.
    """

    trace: TraceRun
    interventions: Interventions

    message = "Running the changed model …"

    @property
    def needs(self) -> tuple[TraceRun]:
        return (self.trace,)

    def compute(self, runs: Translator, before: Trace) -> Trace:
        return reread(runs, before, self.interventions)


@dataclass(frozen=True)
class ContinuationRun(Run[Continuation]):
    """The result of `continue_from` for a step of a translation that a changed model has read.

    Attributes:
        read: run of the changed model that reads it.
        step: argument of `continue_from`.

    Raises: the errors of `TraceRun`.
    """

    read: RereadRun
    step: int | None = None

    message = "Writing on from there …"

    @property
    def needs(self) -> tuple[TraceRun, RereadRun]:
        return self.read.trace, self.read

    def compute(self, runs: Translator, before: Trace, after: Trace) -> Continuation:
        return continue_from(runs, before, after, self.step)

    def states(self, result: Continuation) -> Mapping[str, Stated]:
        return {
            "translation": result.written.text,
            "change of each token": result.step_change,
            "next tokens, as trained": result.before.candidate_log_probs[result.step],
            "next tokens, changed": result.after.candidate_log_probs[result.step],
        }


def reread(translator: Translator, before: Trace, interventions: Interventions) -> Trace:
    """A changed model reading the translation of a trace (teacher forcing), with details if the trace has them.

    Raises: the errors of `Translator.trace`.
    """
    # The text would not do: the model may have written a word in other tokens than the tokenizer would.
    read = [piece.id for piece in before.predicted_pieces]
    return translator.trace(before.source_text, read, details=bool(before.details), interventions=interventions)


def continue_from(translator: Translator, before: Trace, after: Trace, step: int | None = None) -> Continuation:
    """Let a changed model continue a translation from one step.

    Args:
        translator: the model.
        before, after: the translation, read as trained and by `reread`.
        step: the position of a predicted token; None takes `telling_step`.

    Raises: the errors of `Translator.translate`.
    """
    step = telling_step(before, after) if step is None else min(step, len(before.predicted_pieces) - 1)
    prefix = [piece.id for piece in before.predicted_pieces[:step]]
    written = translator.translate(before.source_text, prefix=prefix, interventions=after.interventions)
    return Continuation(before, after, step, written)


def telling_step(before: Trace, after: Trace) -> int:
    """The step to show, given two traces of one translation.

    It is the first step at which another token is the most likely, or whose row of masked or cross-attention is given.
    If there is none, it is the step whose token changed most in log-probability.
    """
    differing = np.flatnonzero(before.candidate_ids[:, 0] != after.candidate_ids[:, 0]).tolist()
    given = [row[3] for row, _ in after.interventions.given_rows() if row[0] != "encoder"]
    steps = [*differing, *(row for row in given if row < len(after.predicted_pieces))]
    return min(steps) if steps else int(np.abs(after.log_probs - before.log_probs).argmax())


def candidates(traces: Sequence[Trace], step: int, count: int) -> list[tuple[int, tuple[float, ...]]]:
    """The most likely next tokens of some traces, best first: id, and log-probability in each trace.

    A token that is not among a trace's stored candidates is NaN there: it is less likely than all of them.
    """
    known = [
        dict(zip(trace.candidate_ids[step].tolist(), trace.candidate_log_probs[step].tolist(), strict=True))
        for trace in traces
    ]
    wanted = {piece for one in known for piece in list(one)[:count]}
    rows = [(piece, tuple(one.get(piece, np.nan) for one in known)) for piece in wanted]
    return sorted(rows, key=lambda row: (-np.nanmax(row[1]), row[0]))
