"""Runs that score one translation under many interventions, and the gradient that estimates the scores."""

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
    """How the model predicts one translation under many interventions; computed as one batch.

    Attributes:
        text: a sentence in the source language.
        target: its translation, or the ids of its tokens; None takes the model's own, without interventions.
        variants: N interventions, which all add positions or all leave them out.

    Raises: the errors of `TraceRun`.
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
    """`ScoresRun` with two traces: without interventions, and under the first variant; each runs only once.

    Attributes:
        text, target, variants: as in `ScoresRun`; at least one variant.
        details: whether the traces have details, as in `TraceRun`.

    Raises: the errors of `TraceRun`.
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
        # The model may have written a word with other tokens than the tokenizer would.
        source, read, predicted = runs.given(self.text, [token.id for token in given[1]])
        runs.check_variants(self.variants, source)
        return Comparison(
            before,
            after,
            score(runs._model, source, read, predicted, self.variants, runs.means, known=(trained, changed)),
        )


@dataclass(frozen=True)
class ContrastsRun(TranslatorRun[np.ndarray]):
    """How the model chooses between two next tokens under many interventions, float32 nats [N]; computed as one batch.

    `transformer.running.scoring.contrasts` computes it.

    Attributes:
        text, variants: as in `ScoresRun`, without the modes "mean" and "resample".
        target: token ids of a translation.
        step: position of the token that the two tokens could replace.
        tokens: ids of the two tokens.

    Raises: the errors of `TraceRun`.
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
            raise TextError("There is no such step or token: choose another.")
        runs.check_variants(self.variants, source)
        return contrasts(runs._model, source, read[:, : self.step + 1], self.tokens, self.variants)


@dataclass(frozen=True)
class GateGradientsRun(TranslatorRun[dict[Kind, np.ndarray]]):
    """The gradient of a translation's log-probability with respect to each head's gate, float32 [L, H] by kind.

    `transformer.running.scoring.gate_gradients` computes it.

    Attributes:
        text, target: as in `ScoresRun`.

    Raises: the errors of `TraceRun`.
    """

    text: str
    target: Target = None

    long = True

    def compute(self, runs: Translator) -> dict[Kind, np.ndarray]:
        gradients = gate_gradients(runs._model, *runs.given(self.text, self.target))
        return {kind: part.cpu().numpy() for kind, part in gradients.items()}
