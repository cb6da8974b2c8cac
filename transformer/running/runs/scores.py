"""Runs that score one translation under many interventions, or estimate from a gradient how much each head matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from transformer.decoding.texts import given_target
from transformer.errors import TextError
from transformer.model.recorder import Recorder
from transformer.running.scoring import Comparison, Scores, contrasts, gate_gradients, score
from transformer.running.translator_run import Target, TranslatorRun
from transformer.values.decoding_settings import GREEDY
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.kinds import Kind

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class ScoresRun(TranslatorRun[Scores]):
    """Scores the model's predictions of one translation under N interventions, in batches.

    Attributes:
        text: source sentence.
        target: translation as text or token ids; None for the model's own translation without interventions.
        variants: N interventions, all with the same `positions`.

    Raises: as in `TraceRun`.
    """

    text: str
    target: Target
    variants: tuple[Interventions, ...]

    message = "Switching heads off …"
    long = True

    def compute(self, runs: Translator) -> Scores:
        source, read, predicted = runs.given(self.text, self.target)
        runs.check_variants(self.variants, source)
        return score(runs._model, source, read, predicted, self.variants, runs.means)


@dataclass(frozen=True)
class ComparisonRun(TranslatorRun[Comparison]):
    """Like `ScoresRun`, but also returns two traces: one without interventions, and one under the first variant.

    Attributes:
        text, target, variants: as in `ScoresRun`; `variants` must not be empty.
        details: whether the traces include details, as in `TraceRun`.

    Raises: as in `TraceRun`.
    """

    text: str
    target: Target
    variants: tuple[Interventions, ...]
    details: bool = False

    long = True

    def compute(self, runs: Translator) -> Comparison:
        encoded = [
            runs.encode(self.text, change, Recorder(details=self.details)) for change in (AS_TRAINED, self.variants[0])
        ]
        if self.target is None:
            translation = encoded[0].decode(GREEDY)
            given = translation.text, translation.tokens
        else:
            given = given_target(runs.tokenizer, self.target, self.text)
        (before, trained), (after, changed) = (each.reader.read(*given) for each in encoded)
        # Pass token ids instead of the text, because the tokenizer may split the text differently.
        source, read, predicted = runs.given(self.text, [token.id for token in given[1]])
        runs.check_variants(self.variants, source)
        return Comparison(
            before,
            after,
            score(runs._model, source, read, predicted, self.variants, runs.means, known=(trained, changed)),
        )


@dataclass(frozen=True)
class ContrastsRun(TranslatorRun[np.ndarray]):
    """Computes the logit difference between two candidate tokens under N interventions, in nats, float32 [N].

    See `transformer.running.scoring.contrasts`.

    Attributes:
        text, variants: as in `ScoresRun`, but the modes "mean" and "resample" are not supported.
        target: token ids of a translation.
        step: position in `target` for which the two candidates compete.
        tokens: ids of the two candidates.

    Raises: as in `TraceRun`; also a TextError if the step or a token does not exist.
    """

    text: str
    target: tuple[int, ...]
    step: int
    tokens: tuple[int, int]
    variants: tuple[Interventions, ...]

    message = "Patching …"
    long = True

    def compute(self, runs: Translator) -> np.ndarray:
        source, read, _ = runs.given(self.text, self.target)
        if not (0 <= self.step < len(self.target) and all(0 <= each < runs.tokenizer.size for each in self.tokens)):
            raise TextError(
                f"Step {self.step} or one of the tokens {self.tokens} does not exist: choose a step below "
                f"{len(self.target)} and token ids below {runs.tokenizer.size}."
            )
        runs.check_variants(self.variants, source)
        return contrasts(runs._model, source, read[:, : self.step + 1], self.tokens, self.variants)


@dataclass(frozen=True)
class GateGradientsRun(TranslatorRun[dict[Kind, np.ndarray]]):
    """Computes the gradient of a translation's log-probability with respect to each head's gate.

    The result is float32 [L, H] by attention kind; see `transformer.running.scoring.gate_gradients`.

    Attributes:
        text, target: as in `ScoresRun`.

    Raises: as in `TraceRun`.
    """

    text: str
    target: Target = None

    long = True

    def compute(self, runs: Translator) -> dict[Kind, np.ndarray]:
        gradients = gate_gradients(runs._model, *runs.given(self.text, self.target))
        return {kind: part.cpu().numpy() for kind, part in gradients.items()}
