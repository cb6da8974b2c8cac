"""Protocols for a text and its model run, used by pages about heads with any type of model."""

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
    """A text and its attention maps. The trace lists the model's parts in `Trace.kinds`, `Trace.stacks` and
    `Trace.parts`.
    """

    @property
    def trace(self) -> Trace: ...

    @property
    def translator(self) -> Translator | None:
        """The model if it is a translator; else None. Only translators have measurements over many sentences."""
        ...

    @property
    def maps(self) -> HeadMaps:
        """The pages that open the model's heads."""
        ...

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return the metrics of all heads of an attention kind on this text."""
        ...

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the head to show for an attention kind: the user's choice, or else the most informative head."""
        ...


class HeadReading(MapReading, Protocol):
    """A text that one of this app's own models has read."""

    @property
    def config(self) -> TransformerConfig: ...

    @property
    def tokenizer(self) -> TextVocabulary:
        """The tokenizer of the text that the model writes."""
        ...

    @property
    def languages(self) -> Languages | None:
        """The model's source and target languages; None if the model does not translate."""
        ...

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return a trace with all intermediate values; `interventions` may switch the mask off."""
        ...

    def weights(self) -> Weights:
        """Return the model's parameters."""
        ...


class TracedReading(HeadReading, Protocol):
    """A text with a cached trace that further model runs build on."""

    @property
    def runs(self) -> CachedRuns: ...

    @property
    def details_run(self) -> Run[Any]:
        """The run that produces the trace with all intermediate values."""
        ...
