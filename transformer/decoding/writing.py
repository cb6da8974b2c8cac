"""Generates a translation or a continuation, starting from a decoder cache."""

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
    """Generate a translation, or a language model's continuation of a text, and measure the time it takes.

    Args:
        model: model in evaluation mode; call this function under `torch.inference_mode()`.
        vocabulary: vocabulary of the output.
        cache: decoder cache to start from, with a batch of 1.
        settings: decoding method and parameters.
        constraints: required and banned tokens; `vocabulary.spelling` replaces `constraints.spelling`.
        limit: maximum number of tokens to generate.
        capture: whether beam search returns a search tree.
        beginning: token ids of the text to continue, which the cache already contains; empty for a translation.

    Raises:
        ValueError: the vocabulary lacks a token in the constraints, or every token is banned.
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
