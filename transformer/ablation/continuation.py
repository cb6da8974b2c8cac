"""Compares next-token predictions with and without interventions, and continues the translation with interventions."""

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
    """One translation's traces with and without interventions, and a new ending written under the interventions.

    Attributes:
        before: trace of the unchanged model reading the translation.
        after: trace of the changed model reading the same translation.
        step: 0-based position of the first token that the changed model chooses itself.
        written: first `step` tokens of the translation, followed by the changed model's continuation.
    """

    before: Trace
    after: Trace
    step: int
    written: Translation

    @property
    def step_change(self) -> np.ndarray:
        """Change in each predicted token's log-probability, nats [T]; above 0 if the token becomes more likely."""
        return self.after.log_probs - self.before.log_probs

    @property
    def next_tokens(self) -> tuple[int, int]:
        """Ids of the most likely token at `step`, without and with interventions."""
        return int(self.before.candidate_ids[self.step, 0]), int(self.after.candidate_ids[self.step, 0])


@dataclass(frozen=True)
class RereadRun(Run[Trace]):
    """Model run in which a changed model reads an existing translation (`reread`).

    Attributes:
        trace: model run that produces the translation.
        interventions: changes to the model.

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
    """Model run in which a changed model continues a translation from a given step (`continue_from`).

    Attributes:
        read: model run in which the changed model reads the translation.
        step: 0-based position of the first token to choose; None lets `default_step` choose the step.

    Raises: the errors of `TraceRun`.
    """

    read: RereadRun
    step: int | None = None

    message = "Continuing the translation …"

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
    """Run a changed model on a trace's translation (teacher forcing), and return the new trace.

    The new trace has details if `before` has details.

    Raises: the errors of `Translator.trace`.
    """
    # Pass token ids rather than text, because the model may have split a word differently from the tokenizer.
    read = [token.id for token in before.predicted_tokens]
    return translator.trace(before.source_text, read, details=bool(before.details), interventions=interventions)


def continue_from(translator: Translator, before: Trace, after: Trace, step: int | None = None) -> Continuation:
    """Continue a translation with a changed model, from a given step.

    Args:
        translator: the model.
        before, after: traces of one translation, without and with interventions (see `reread`).
        step: 0-based position of the first token to choose; None lets `default_step` choose the step.

    Raises: the errors of `Translator.translate`.
    """
    step = default_step(before, after) if step is None else min(step, len(before.predicted_tokens) - 1)
    prefix = [token.id for token in before.predicted_tokens[:step]]
    continuation = translator.translate(before.source_text, prefix=prefix, interventions=after.interventions)
    return Continuation(before, after, step, continuation)


def default_step(before: Trace, after: Trace) -> int:
    """Choose the step to show first, from traces of one translation without and with interventions.

    A step qualifies if the interventions change its most likely token, or if they replace its attention weights in
    masked or cross-attention. The first such step is chosen. If no step qualifies, the step with the largest change in
    log-probability is chosen.
    """
    differing = np.flatnonzero(before.candidate_ids[:, 0] != after.candidate_ids[:, 0]).tolist()
    given_rows = [row[3] for row, _ in after.interventions.given_rows() if row[0] != "encoder"]
    steps = [*differing, *(row for row in given_rows if row < len(after.predicted_tokens))]
    return min(steps) if steps else int(np.abs(after.log_probs - before.log_probs).argmax())


def candidates(traces: Sequence[Trace], step: int, count: int) -> list[tuple[int, tuple[float, ...]]]:
    """Return the most likely next tokens in several traces, sorted by their highest log-probability in any trace.

    Args:
        traces: traces of one translation, by different models or with different interventions.
        step: 0-based position of the predicted token.
        count: number of tokens to take from each trace.

    Returns:
        For each token, its id and its log-probability in each trace, nats. A trace stores only the most likely tokens
        of each step. NaN means that the token is not stored, because it is less likely than the stored ones.
    """
    log_probs = [
        dict(zip(trace.candidate_ids[step].tolist(), trace.candidate_log_probs[step].tolist(), strict=True))
        for trace in traces
    ]
    wanted = {token for one in log_probs for token in list(one)[:count]}
    rows = [(token, tuple(one.get(token, np.nan) for one in log_probs)) for token in wanted]
    return sorted(rows, key=lambda row: (-np.nanmax(row[1]), row[0]))
