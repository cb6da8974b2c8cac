"""Traces a language model while it reads or continues a text."""

from collections.abc import Iterable, Sequence, Set

import numpy as np
import torch

from transformer.checkpoints.checkpoint import LanguageModel
from transformer.decoding.constraints import Constraints
from transformer.decoding.head_replacements import HeadReplacements
from transformer.decoding.reading import Reader
from transformer.decoding.texts import MAX_CHARACTERS, MAX_TOKENS
from transformer.errors import InterventionError, TextError
from transformer.language_modelling.continuation import continue_text
from transformer.language_modelling.scoring import TextScore, score_text
from transformer.model.devices import device_errors_explained
from transformer.model.edits import edits_of
from transformer.model.recorder import Recorder
from transformer.model.site_recorder import SiteRecorder
from transformer.text.normalisation import replace_surrogates
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.sites import HookFunctions
from transformer.values.trace import Trace
from transformer.values.translation import LogitLens, TracedTranslation


def max_tokens(loaded: LanguageModel) -> int:
    """Return the maximum number of tokens in a traced text, without the start symbol."""
    limit = loaded.model.config.position_limit
    # The start symbol occupies one of the learned positions.
    return MAX_TOKENS if limit is None else min(MAX_TOKENS, limit - 1)


def check_length(loaded: LanguageModel, text: str) -> None:
    """Check that a text is short enough to be traced.

    Raises:
        TextError: the text is too long; the message states the length and the limit.
    """
    most = max_tokens(loaded)
    # Tokenizing a very long text would take seconds, so count its characters instead.
    tokens = len(loaded.tokenizer.encode(replace_surrogates(text), end=False)) if len(text) <= MAX_CHARACTERS else None
    if tokens is None or tokens > most:
        length = f"{tokens:,} tokens" if tokens else f"{len(text):,} characters"
        raise TextError(
            f"The text has {length}, but this model reads at most {most} tokens after the start symbol: shorten the "
            "text to a few sentences."
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
    """Continue a text, and return the continuation together with a trace of the model.

    Args:
        loaded: language model with full attention.
        text: text to continue, which may be empty.
        settings: decoding method and parameters.
        limit: maximum number of tokens to generate; fewer are generated if the learned positions run out.
        forced: token ids with which the continuation must begin.
        suppressed: token ids that must not be generated after `forced`.

    Raises:
        TextError: the text is too long.
        DeviceError: the device ran out of memory, or does not respond.
        ValueError: a given id is not in the vocabulary, or every token is suppressed.

    Returns:
        Continuation, trace, ranks and logit lens. The trace covers the text and the continuation; ranks and logit lens
        cover only the continuation.
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
    """Score a text; return the score and the model's trace.

    Raises:
        TextError: the text is empty or too long.
        DeviceError: the device ran out of memory, or does not respond.
    """
    check_length(loaded, text)
    with device_errors_explained(loaded.device), torch.inference_mode():
        score = score_text(loaded.model, loaded.tokenizer, text)
    return score, trace_reading(loaded, [token.id for token in score.tokens])


def trace_reading(
    loaded: LanguageModel,
    text: str | Sequence[int],
    *,
    interventions: Interventions = AS_TRAINED,
    hooks: HookFunctions | None = None,
    record: Recorder | None = None,
) -> Trace:
    """Trace a language model while it reads a text; return the trace, with details.

    Args:
        loaded: model with full attention.
        text: at least one token, as text or as ids without the start symbol.
        interventions: interventions to run the model with. Hidden source tokens and the modes "mean" and "resample" are
            not supported.
        hooks: functions that read and change the model's values, by site (docs/hooks.md).
        record: recorder that replaces the default one, which records all details. The trace then has only the details
            that `record` stores.

    Raises:
        TextError: the text is empty or too long.
        InterventionError: the interventions or hooks do not fit the model, or the model does not use full attention.
        DeviceError: the device ran out of memory, or does not respond.
    """
    if isinstance(text, str):
        check_length(loaded, text)
        text = [token.id for token in loaded.tokenizer.encode(replace_surrogates(text), end=False)]
    if not text:
        raise TextError("There is no text: type at least one character.")
    with device_errors_explained(loaded.device), torch.inference_mode():
        return _read(_reader(loaded, interventions, hooks, record), text)


def reading_activations(
    loaded: LanguageModel,
    text: str | Sequence[int],
    sites: Iterable[str],
    *,
    interventions: Interventions = AS_TRAINED,
    hooks: HookFunctions | None = None,
) -> dict[str, np.ndarray]:
    """Return a model's values at the given sites while the model reads a text.

    `Translator.activations` does the same for translation. `sites` contains names of sites (docs/hooks.md). The other
    arguments and the errors are those of `trace_reading`.
    """
    record = SiteRecorder(sites, loaded.config)
    trace_reading(loaded, text, interventions=interventions, hooks=hooks, record=record)
    return record.arrays()


def _reader(
    loaded: LanguageModel,
    interventions: Interventions = AS_TRAINED,
    hooks: HookFunctions | None = None,
    record: Recorder | None = None,
) -> Reader:
    """Return a `Reader` that records all activations of a language model, by default in a new recorder."""
    model = loaded.model
    if model.config.attention != "full":
        raise InterventionError(
            f"A model with {model.config.attention} attention cannot be traced: choose a model with full attention."
        )
    interventions.check(model.config, 0)
    replacements = HeadReplacements(model, None, ())
    cache = model.start_cache(edits=edits_of([interventions], model.config, replacements, loaded.device, hooks))
    record = record or Recorder(details=True)
    return Reader(model, loaded.tokenizer, "", (), cache, interventions, record, loaded.version)


def _read(reader: Reader, tokens: Sequence[int]) -> Trace:
    """Trace the text that consists of the given token ids, which do not include the start symbol."""
    return reader.read(reader.vocabulary.decode(tokens), reader.vocabulary.tokens(tokens))[0]
