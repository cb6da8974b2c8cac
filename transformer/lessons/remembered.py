"""A model whose runs are made once: the claim of a step and its figure look at the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class RememberedRuns:
    """`transformer.lessons.evidence.Runs` that remember their traces, for as long as one lesson is checked.

    Attributes:
        runs: that are remembered.
        traces: by what they were asked for.
    """

    runs: Runs
    traces: dict[tuple[object, ...], Trace] = field(default_factory=dict)

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
        return self.runs.translate(text, settings)

    def trace(
        self, text: str, target: str | None = None, *, details: bool = False, interventions: Interventions = AS_TRAINED
    ) -> Trace:
        asked = text, target, details, interventions
        if asked not in self.traces:
            self.traces[asked] = self.runs.trace(text, target, details=details, interventions=interventions)
        return self.traces[asked]

    def score(self, text: str, target: str | None, variants: Sequence[Interventions]) -> Scores:
        return self.runs.score(text, target, variants)

    def attribute(
        self, trace: Trace, method: Method, targets: Sequence[Target], *, words: bool = False
    ) -> Attribution:
        return self.runs.attribute(trace, method, targets, words=words)
