"""Runs that continue texts, read them without the causal mask, score them, and measure heads."""

from dataclasses import dataclass
from typing import Any

from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.language_modelling.head_scores import HeadScores, head_scores
from transformer.language_modelling.scoring import TextScore
from transformer.language_modelling.tracing import trace_continuation, trace_reading, trace_text
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import Interventions
from transformer.values.run import Run
from transformer.values.trace import Trace
from transformer.values.translation import TracedTranslation


@dataclass(frozen=True)
class TextContinuationRun(Run[TracedTranslation]):
    """Continues a text; returns the continuation with its trace, token ranks and logit lens.

    Attributes:
        text, settings, limit, forced, suppressed: as in `transformer.language_modelling.tracing.trace_continuation`.

    Raises: as in `trace_continuation`.
    """

    text: str
    settings: DecodingSettings
    limit: int
    forced: tuple[int, ...] = ()
    suppressed: frozenset[int] = frozenset()

    message = "Writing …"

    def compute(self, runs: LanguageModel) -> TracedTranslation:
        return trace_continuation(
            runs, self.text, self.settings, limit=self.limit, forced=self.forced, suppressed=self.suppressed
        )


@dataclass(frozen=True)
class ContinuationMetricsRun(Run[HeadMetrics]):
    """Computes the metrics of all heads from a continuation's trace."""

    continued: TextContinuationRun

    uses = "results"

    @property
    def needs(self) -> tuple[TextContinuationRun]:
        return (self.continued,)

    def compute(self, runs: Any, traced: TracedTranslation) -> HeadMetrics:
        # The negative id stands for frequency: merges are ordered by frequency, so frequent tokens have low ids.
        scores = [-float(number) for number in range(runs.tokenizer.size)]
        return head_metrics(traced.trace, "decoder", scores)


@dataclass(frozen=True)
class UnmaskedRun(Run[Trace]):
    """Traces the model without the causal mask while it reads a text and its continuation."""

    continued: TextContinuationRun

    message = "Reading without the mask …"

    @property
    def needs(self) -> tuple[TextContinuationRun]:
        return (self.continued,)

    def compute(self, runs: LanguageModel, traced: TracedTranslation) -> Trace:
        ids = [token.id for token in traced.trace.predicted_tokens]
        return trace_reading(runs, ids, interventions=Interventions(decoder_mask=False))


@dataclass(frozen=True)
class TextScoreRun(Run[tuple[TextScore, Trace]]):
    """Scores a text; returns the score and the model's trace.

    Raises: as in `transformer.language_modelling.tracing.trace_text`.
    """

    text: str

    message = "Reading …"

    def compute(self, runs: LanguageModel) -> tuple[TextScore, Trace]:
        return trace_text(runs, self.text)


@dataclass(frozen=True)
class CopyingRun(Run[HeadScores]):
    """Measures each head's previous-token and induction scores on random patterns.

    Raises:
        ValueError: the vocabulary is too small for a pattern.
        AtlasError: the model has too few learned positions for a pattern, or the device fails.
    """

    message = "Reading random patterns …"
    long = True

    def compute(self, runs: LanguageModel) -> HeadScores:
        return head_scores(runs.model)
