"""A model whose runs are made once: the claim of a step and its figure look at the same ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from transformer.attribution.attribution import Attribution, Method, Target
from transformer.config import TransformerConfig
from transformer.lessons.evidence import Runs
from transformer.running.scoring import Scores
from transformer.text.vocabulary import Vocabulary
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace
from transformer.values.translation import Translation
from transformer.values.weights import Weights

Result = TypeVar("Result")


@dataclass(frozen=True)
class RememberedRuns:
    """`transformer.lessons.evidence.Runs` that remember what they computed, for as long as one lesson is checked.

    Attributes:
        runs: that are remembered.
        results: by what they were asked for.
    """

    runs: Runs
    results: dict[tuple[object, ...], Any] = field(default_factory=dict)

    @property
    def config(self) -> TransformerConfig:
        return self.runs.config

    @property
    def tokenizer(self) -> Vocabulary:
        return self.runs.tokenizer

    @property
    def curve(self) -> str:
        return self.runs.curve

    def weights(self) -> Weights:
        return self.runs.weights()

    def translate(self, text: str, settings: DecodingSettings) -> Translation:
        return self._once((text, settings), lambda: self.runs.translate(text, settings))

    def trace(
        self, text: str, target: str | None = None, *, details: bool = False, interventions: Interventions = AS_TRAINED
    ) -> Trace:
        return self._once(
            (text, target, details, interventions),
            lambda: self.runs.trace(text, target, details=details, interventions=interventions),
        )

    def score(self, text: str, target: str | None, variants: Sequence[Interventions]) -> Scores:
        return self._once((text, target, tuple(variants)), lambda: self.runs.score(text, target, variants))

    def attribute(
        self, trace: Trace, method: Method, targets: Sequence[Target], *, words: bool = False
    ) -> Attribution:
        return self._once(
            (trace.source_text, trace.target_text, method, tuple(targets), words),
            lambda: self.runs.attribute(trace, method, targets, words=words),
        )

    def _once(self, asked: tuple[object, ...], compute: Callable[[], Result]) -> Result:
        if asked not in self.results:
            self.results[asked] = compute()
        return self.results[asked]
