"""What the pages about heads ask of a text that a model has read, whichever model it is."""

from __future__ import annotations

from typing import Protocol

from pages.ui.heads.kinds import HeadMaps
from pages.ui.params.attention import AttentionParams
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.config import TransformerConfig
from transformer.running.translator import Translator
from transformer.text.languages import Languages
from transformer.text.vocabulary import TextVocabulary
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


class MapReading(Protocol):
    """Attention of a text. What its model has, the trace says: `Trace.kinds`, `Trace.stacks` and `Trace.parts`."""

    @property
    def trace(self) -> Trace: ...

    @property
    def translator(self) -> Translator | None:
        """The model, if it translates: what was measured over many sentences was measured of such models."""
        ...

    @property
    def maps(self) -> HeadMaps:
        """Where its heads are opened."""
        ...

    def metrics(self, kind: Kind) -> HeadMetrics:
        """What every head of a kind does with the text."""
        ...

    def choice(self, kind: Kind) -> AttentionParams:
        """The head that is shown of a kind: the one that somebody chose, else the telling one of the text."""
        ...


class HeadReading(MapReading, Protocol):
    """A text that a model here has read."""

    @property
    def config(self) -> TransformerConfig: ...

    @property
    def tokenizer(self) -> TextVocabulary:
        """Of what the model writes."""
        ...

    @property
    def languages(self) -> Languages | None:
        """What the model translates; None if it does not translate."""
        ...

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """The trace with everything that was computed, by a run that may leave its mask out."""
        ...

    def weights(self) -> Weights:
        """The model's parameters."""
        ...
