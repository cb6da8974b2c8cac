"""Runs of a language model, computed once and shared by everybody who asks for the same."""

from __future__ import annotations

from collections.abc import Set

from pages.ui.runs.inference import LONG_RUNS, RUNS, turn
from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.checkpoints.checkpoint import LanguageModel
from transformer.language_modelling.head_scores import HeadScores, head_scores
from transformer.language_modelling.scoring import TextScore
from transformer.language_modelling.tracing import TracedContinuation
from transformer.language_modelling.tracing import trace_continuation as continue_and_trace
from transformer.language_modelling.tracing import trace_text as score_and_trace
from transformer.language_modelling.tracing import trace_unmasked as read_without_mask
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.trace import Trace


@RUNS.remember("Writing …")
def trace_continuation(
    loaded: LanguageModel, text: str, settings: DecodingSettings, limit: int, forced: tuple[int, ...],
    suppressed: Set[int],
) -> TracedContinuation:
    """How a language model goes on from a beginning, and all that was computed for it.

    Args:
        text, settings, limit, forced, suppressed: of `transformer.language_modelling.tracing.trace_continuation`.

    Raises:
        AtlasError: the beginning is too long; the message says what to do.
    """
    with turn():
        return continue_and_trace(
            loaded, text, settings, limit=limit, forced=forced, suppressed=suppressed
        )


@RUNS.remember()
def continuation_metrics(
    loaded: LanguageModel, text: str, settings: DecodingSettings, limit: int, forced: tuple[int, ...],
    suppressed: Set[int],
) -> HeadMetrics:
    """What every head does in a trace of `trace_continuation`."""
    # Pieces are numbered as they were merged, the most frequent first.
    scores = [-float(number) for number in range(loaded.tokenizer.size)]
    traced = trace_continuation(loaded, text, settings, limit, forced, suppressed)
    return head_metrics(traced.trace, "decoder", scores)


@RUNS.remember("Reading without the mask …")
def unmasked_trace(
    loaded: LanguageModel, text: str, settings: DecodingSettings, limit: int, forced: tuple[int, ...],
    suppressed: Set[int],
) -> Trace:
    """The text of `trace_continuation`, read by the model without its mask."""
    masked = trace_continuation(loaded, text, settings, limit, forced, suppressed).trace
    with turn():
        return read_without_mask(loaded, masked)


@RUNS.remember("Reading …")
def trace_text(loaded: LanguageModel, text: str) -> tuple[TextScore, Trace]:
    """The probability of a text, and what was computed for it.

    Raises:
        AtlasError: the text is empty or too long; the message says what to do.
    """
    with turn():
        return score_and_trace(loaded, text)


@RUNS.remember("Reading random patterns …")
def copying_scores(loaded: LanguageModel) -> HeadScores:
    """How much every head looks at the previous piece, and how much it continues a pattern.

    Raises:
        ValueError: the vocabulary is too small for a pattern.
        AtlasError: the model has learned too few positions for one, or its device fails.
    """
    with turn(LONG_RUNS):
        return head_scores(loaded.model)
