"""Protocols for a text that a model of any kind has read, for the pages about heads."""

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
    """The attention of a text. The trace lists the model's parts in `Trace.kinds`, `Trace.stacks` and `Trace.parts`."""

    @property
    def trace(self) -> Trace: ...

    @property
    def translator(self) -> Translator | None:
        """The model if it is a translator, for which there are measurements over many sentences; else None."""
        ...

    @property
    def maps(self) -> HeadMaps:
        """The pages that open the heads."""
        ...

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return the metrics of all heads of a kind on this text."""
        ...

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the shown head of a kind: the user's choice, or else the most informative head for the text."""
        ...


class HeadReading(MapReading, Protocol):
    """A text that a model of this app has read."""

    @property
    def config(self) -> TransformerConfig: ...

    @property
    def tokenizer(self) -> TextVocabulary:
        """The tokenizer of the text that the model writes."""
        ...

    @property
    def languages(self) -> Languages | None:
        """The languages of the model; None if it does not translate."""
        ...

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return a trace with all intermediate values; the interventions may switch the mask off."""
        ...

    def weights(self) -> Weights:
        """Return the parameters of the model."""
        ...


class TracedReading(HeadReading, Protocol):
    """A text whose trace other runs build on."""

    @property
    def runs(self) -> CachedRuns: ...

    @property
    def details_run(self) -> Run[Any]:
        """The run that produces the trace with all intermediate values."""
        ...
