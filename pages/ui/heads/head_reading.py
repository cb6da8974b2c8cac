"""Interface of a text that a model has read, for the pages about heads and for every kind of model."""

from __future__ import annotations

from typing import Any, Protocol

from pages.ui.heads.kinds import HeadMaps
from pages.ui.params.attention import AttentionParams
from pages.ui.runs.inference import CachedRuns
from transformer.analysis.heads.metrics import HeadMetrics
from transformer.config import TransformerConfig
from transformer.running.translator import Translator
from transformer.text.languages import Languages
from transformer.text.vocabulary import TextVocabulary
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.run import Run
from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


class MapReading(Protocol):
    """Attention of a text. The trace lists the parts of its model: `Trace.kinds`, `Trace.stacks` and `Trace.parts`."""

    @property
    def trace(self) -> Trace: ...

    @property
    def translator(self) -> Translator | None:
        """The model if it translates: the measurements over many sentences are of such models."""
        ...

    @property
    def maps(self) -> HeadMaps:
        """Pages where its heads are opened."""
        ...

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return metrics of every head of a kind for this text."""
        ...

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the shown head of a kind: the user's choice, else the most informative one for the text."""
        ...


class HeadReading(MapReading, Protocol):
    """Text that a model of this app has read."""

    @property
    def config(self) -> TransformerConfig: ...

    @property
    def tokenizer(self) -> TextVocabulary:
        """Tokenizer of the text that the model writes."""
        ...

    @property
    def languages(self) -> Languages | None:
        """Languages that the model translates; None if it does not translate."""
        ...

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return the trace with all values of a run that may omit its mask."""
        ...

    def weights(self) -> Weights:
        """Return parameters of the model."""
        ...


class TracedReading(HeadReading, Protocol):
    """Text whose trace other runs refer to."""

    @property
    def runs(self) -> CachedRuns: ...

    @property
    def details_run(self) -> Run[Any]:
        """The run that produces the trace with details."""
        ...
