"""Traces a language model while it reads or continues a text."""

from __future__ import annotations

from collections.abc import Sequence, Set

import torch

from transformer.checkpoints.checkpoint import LanguageModel
from transformer.decoding.constraints import Constraints
from transformer.decoding.reading import Reader
from transformer.decoding.texts import MAX_CHARACTERS, MAX_TOKENS
from transformer.errors import TextError
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.scoring import TextScore, score_text
from transformer.model.devices import device_errors_explained
from transformer.model.edits import edits_of
from transformer.model.recorder import Recorder
from transformer.text.normalisation import replace_surrogates
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace
from transformer.values.translation import LogitLens, TracedTranslation


def max_tokens(loaded: LanguageModel) -> int:
    """Maximum number of tokens of a traced text, without the start symbol."""
    limit = loaded.model.config.position_limit
    # The start symbol takes one of the learned positions.
    return MAX_TOKENS if limit is None else min(MAX_TOKENS, limit - 1)


def check_length(loaded: LanguageModel, text: str) -> None:
    """Check that a text is short enough for a trace.

    Raises:
        TextError: the text is too long; the message gives its length and the limit.
    """
    most = max_tokens(loaded)
    # Splitting a very long text into tokens would take seconds.
    tokens = len(loaded.tokenizer.encode(replace_surrogates(text), end=False)) if len(text) <= MAX_CHARACTERS else None
    if tokens is None or tokens > most:
        length = f"{tokens:,} tokens" if tokens else f"{len(text):,} characters"
        raise TextError(
            f"The text has {length}, but this model reads at most {most} tokens after the start symbol: shorten it to "
            "a few sentences."
        )


def trace_continuation(
    loaded: LanguageModel,
    text: str,
    settings: DecodingSettings,
    *,
    limit: int,
    forced: Sequence[int] = (),
    suppressed: Set[int] = frozenset(),
) -> TracedTranslation:
    """Continue a text, and keep everything that was computed.

    Args:
        loaded: the model, with full attention.
        text: the beginning; it may be empty.
        settings: how tokens are chosen.
        limit: maximum number of tokens to write; fewer if the model has too few learned positions.
        forced: ids of the tokens that the continuation begins with.
        suppressed: ids of tokens that must not be taken after them.

    Raises:
        TextError: the beginning is too long.
        DeviceError: the device ran out of memory.
        ValueError: a setting is out of range, or the vocabulary has no such token.

    Returns:
        The continuation. Its trace is that of the model reading everything, including the beginning. Its ranks and
        logit lens are those of the tokens written.
    """
    check_length(loaded, text)
    with device_errors_explained(loaded.device), torch.inference_mode():
        continuation = continue_text(
            loaded.model,
            loaded.tokenizer,
            text,
            settings,
            limit=max(limit, len(forced) + 1),
            constraints=Constraints(tuple(forced), frozenset(suppressed)),
            capture=True,
        )
        ids = [token.id for token in (*continuation.beginning, *continuation.tokens)]
        first = len(continuation.beginning)
        reader = _reader(loaded)
        trace = _read(reader, ids)
        lens, ranks = reader.logit_lens(trace.predicted_tokens)
        return TracedTranslation(
            continuation,
            trace,
            ranks[first:],
            LogitLens(lens.candidate_ids[:, first:], lens.candidate_log_probs[:, first:], lens.taken[:, first:]),
        )


def trace_text(loaded: LanguageModel, text: str) -> tuple[TextScore, Trace]:
    """Score a text, and return the model's trace with the score.

    Raises:
        TextError: the text is empty or too long.
        DeviceError: the device ran out of memory.
    """
    check_length(loaded, text)
    with device_errors_explained(loaded.device), torch.inference_mode():
        score = score_text(loaded.model, loaded.tokenizer, text)
        return score, _read(_reader(loaded), [token.id for token in score.tokens])


def trace_unmasked(loaded: LanguageModel, trace: Trace) -> Trace:
    """Run the model on a traced text again, without the causal mask, so that every query sees later tokens.

    Args:
        loaded: model that made the trace, with full attention.
        trace: trace of the text.

    Raises:
        DeviceError: the device ran out of memory.
    """
    with device_errors_explained(loaded.device), torch.inference_mode():
        reader = _reader(loaded, Interventions(decoder_mask=False))
        return _read(reader, [token.id for token in trace.predicted_tokens])


def _reader(loaded: LanguageModel, interventions: Interventions = AS_TRAINED) -> Reader:
    """Return a `Reader` that records all activations of a language model."""
    model = loaded.model
    cache = model.start_cache(edits=edits_of([interventions], model.config))
    return Reader(model, loaded.tokenizer, "", (), cache, interventions, Recorder(details=True), loaded.version)


def _read(reader: Reader, tokens: Sequence[int]) -> Trace:
    """Trace a text, given by token ids without the start symbol."""
    return reader.read(reader.vocabulary.decode(tokens), reader.vocabulary.tokens(tokens))[0]
