"""Protocols for a text that a model has read. Pages about heads use them to support every type of model."""

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
    """A text and its attention maps.

    `Trace.kinds`, `Trace.stacks` and `Trace.parts` list the model's attention kinds, stacks and sub-layers.
    """

    @property
    def trace(self) -> Trace: ...

    @property
    def translator(self) -> Translator | None:
        """The translator that read the text; None for any other model. Only translators have measurements over many
        sentences.
        """
        ...

    @property
    def maps(self) -> HeadMaps:
        """The pages that show the model's attention maps."""
        ...

    def metrics(self, kind: Kind) -> HeadMetrics:
        """Return the metrics of all heads of an attention kind, measured on this text."""
        ...

    def choice(self, kind: Kind) -> AttentionParams:
        """Return the head to show for an attention kind: the user's choice, or the most informative head."""
        ...


class HeadReading(MapReading, Protocol):
    """A text that one of this app's models has read, as opposed to attention maps loaded from a file."""

    @property
    def config(self) -> TransformerConfig: ...

    @property
    def tokenizer(self) -> TextVocabulary:
        """The tokenizer for the text that the model writes."""
        ...

    @property
    def languages(self) -> Languages | None:
        """The source and target languages; None if the model does not translate."""
        ...

    def detailed(self, interventions: Interventions = AS_TRAINED) -> Trace:
        """Return a trace with all intermediate values of a model run, with or without interventions."""
        ...

    def weights(self) -> Weights: ...


class TracedReading(HeadReading, Protocol):
    """A `HeadReading` with access to the model's cached runs, so that further runs can be based on the text's trace."""

    @property
    def runs(self) -> CachedRuns: ...

    @property
    def details_run(self) -> Run[Any]:
        """The model run that returns a trace with all intermediate values."""
        ...
