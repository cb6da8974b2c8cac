"""Writes a translation or a continuation from a decoder's cache."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from transformer.decoding.constraints import Constraints
from transformer.decoding.search import search
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.text.vocabulary import TextVocabulary
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.translation import Translation


def write(
    model: Transformer,
    vocabulary: TextVocabulary,
    cache: DecoderCache,
    settings: DecodingSettings,
    constraints: Constraints,
    *,
    limit: int,
    capture: bool = False,
    beginning: tuple[int, ...] = (),
) -> Translation:
    """Write a translation, or the continuation of a beginning, token by token.

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        vocabulary: vocabulary of the output.
        cache: the cache of one text that decoding starts from.
        settings: how tokens are chosen.
        constraints: tokens that must or must not be taken; the vocabulary's spelling is added to them.
        limit: maximum number of tokens.
        capture: whether to return the tree of a beam search.
        beginning: ids of the text that a language model has read before; they are not among the tokens written.

    Raises:
        ValueError: a setting is out of range, or the vocabulary has no such token.
    """
    spelt = replace(constraints, spelling=vocabulary.spelling)
    began = perf_counter()
    found = search(model, cache, settings, spelt, limit=limit, capture=capture)
    seconds = perf_counter() - began
    ids = [*beginning, *found.tokens]
    located = vocabulary.tokens(ids)
    return Translation(
        settings=settings,
        prefix=constraints.prefix,
        suppressed=frozenset(constraints.suppressed),
        tokens=located[len(beginning) :],
        text=vocabulary.decode(ids),
        log_prob=found.log_prob,
        complete=found.complete,
        seconds=seconds,
        tree=found.tree,
        beginning=located[: len(beginning)],
    )
