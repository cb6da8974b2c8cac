"""Measures how interventions change the translation of one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.decoding.head_replacements import drawn
from transformer.running.runs.trace import TraceRun
from transformer.running.scoring import Scores
from transformer.running.translator import Translator
from transformer.running.translator_run import ReadTarget
from transformer.values.cancellation import check_cancelled
from transformer.values.interventions import DEFAULT_DRAWS, Interventions, draws_of
from transformer.values.run import Run, Stated
from transformer.values.tokens import Token
from transformer.values.trace import Trace


@dataclass(frozen=True, eq=False)
class Effect:
    """One sentence's results with and without interventions.

    Attributes:
        before: trace of the unchanged model, reading its own translation or a given one.
        after: trace of the changed model reading the same translation; in "resample" mode, the first draw.
        free: trace of the changed model writing its own translation; in "resample" mode, the first draw.
        scores: scores of the changed model relative to `before`, with one variant per draw. They include the KL
            divergence, the total variation distance and the ranks at each step.
        translations: the changed model's translation in each draw, R texts.
        unchanged: number of draws in which the changed model writes exactly the tokens of `before`.
        others: in "resample" mode, the sentence that supplies each draw's replacement head outputs, R texts; otherwise
            empty.
    """

    before: Trace
    after: Trace
    free: Trace
    scores: Scores
    translations: tuple[str, ...]
    unchanged: int
    others: tuple[str, ...]

    @property
    def draws(self) -> int:
        """Number of draws R; always 1 except in "resample" mode."""
        return len(self.translations)

    @property
    def step_changes(self) -> np.ndarray:
        """Change in each token's log-probability in each draw, nats [R, T]; below 0 if a token became less likely."""
        return self.scores.log_probs - self.scores.baseline

    @property
    def step_change(self) -> np.ndarray:
        """Mean of `step_changes` over the draws, nats [T]."""
        return self.step_changes.mean(axis=0)

    @property
    def change(self) -> float:
        """Change in the whole translation's log-probability, in nats, averaged over the draws."""
        return float(self.scores.change.mean())

    @property
    def first_difference(self) -> int | None:
        """First 0-based step at which the changed model writes a different token; None if there is no such step."""
        old, new = ([token.id for token in trace.predicted_tokens] for trace in (self.before, self.free))
        if old == new:
            return None
        same = (one == other for one, other in zip(old, new, strict=False))
        return next((step for step, equal in enumerate(same) if not equal), min(len(old), len(new)))


@dataclass(frozen=True)
class EffectRun(Run[Effect]):
    """Model run that computes `effect_of` for a text.

    Attributes:
        trace: model run that supplies the text and, optionally, a translation that the model reads with and without the
            changes.
        interventions: changes to the model.
        draws: number of draws in "resample" mode.

    Raises: the errors of `TraceRun`.
    """

    trace: TraceRun
    interventions: Interventions
    draws: int = DEFAULT_DRAWS

    message = "Translating with the changed model …"

    @property
    def long(self) -> bool:
        # Only "resample" mode takes a long time, because each draw runs the whole model again.
        return self.interventions.mode == "resample"

    def compute(self, runs: Translator) -> Effect:
        return effect_of(runs, self.trace.text, self.interventions, self.trace.target, draws=self.draws)

    def states(self, result: Effect) -> Mapping[str, Stated]:
        return {
            "translation": result.free.target_text,
            "change": result.change,
            "change of each token": result.step_change,
            "KL divergence of each token": result.scores.kl.mean(axis=0),
        }


def effect_of(
    translator: Translator,
    text: str,
    interventions: Interventions,
    target: ReadTarget = None,
    *,
    details: bool = False,
    draws: int = DEFAULT_DRAWS,
) -> Effect:
    """Translate a sentence with and without interventions, and compare the results.

    Args:
        translator: the model.
        text: sentence in the source language.
        interventions: changes to the model.
        target: translation that the model reads in both cases, as text or token ids; None for the unchanged model's.
        details: whether the traces have details, as in `Translator.trace`.
        draws: number of draws in "resample" mode, computed as one batch.

    Raises: the errors of `Translator.trace`.
    """
    runs = draws_of(interventions, draws)
    compared = translator.compare(text, target, runs, details=details)
    before, first = compared.before, runs[0]
    read = _ids(before.predicted_tokens)
    if len(runs) == 1:
        free = translator.trace(text, details=details, interventions=first)
        written = [free.predicted_tokens]
    else:
        written = translator.translate_variants(text, runs)
        free = translator.trace(text, _ids(written[0]), details=details, interventions=first)
    check_cancelled()
    return Effect(
        before,
        compared.after,
        free,
        compared.scores,
        tuple(translator.tokenizer.decode(_ids(tokens)) for tokens in written),
        sum(_ids(tokens) == read for tokens in written),
        _others(translator, before, runs),
    )


def _others(translator: Translator, before: Trace, runs: Sequence[Interventions]) -> tuple[str, ...]:
    """Return, for each of the `runs`, the sentence that supplies the replacement head outputs.

    The result is empty if no head outputs are resampled.
    """
    source, means = _ids(before.source_tokens), translator.means
    return tuple(
        translator.tokenizer.decode(drawn(means.pairs, source, run.seed, run.draw)[0][0])
        for run in runs
        if means and run.mode == "resample" and any(run.head_gates())
    )


def _ids(tokens: Sequence[Token]) -> list[int]:
    return [token.id for token in tokens]
