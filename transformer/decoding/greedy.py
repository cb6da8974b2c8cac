"""Greedy decoding, which always takes the most likely next token."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.loop import decode_loop
from transformer.decoding.step import Step, logits_of_next
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled


def greedy(
    model: Transformer,
    cache: DecoderCache,
    *,
    limit: int,
    constraints: Constraints = UNCONSTRAINED,
    capture: bool = False,
) -> Iterator[Step]:
    """Take the most likely token at every step; arguments, steps and errors are as in `decode_loop`."""
    return decode_loop(model, cache, most_likely, limit=limit, constraints=constraints, capture=capture)


def most_likely(logits: Tensor) -> Tensor:
    """Return the id of the largest logit in each row, [N]; in case of a tie, the lowest id. The logits are [N, V]."""
    if logits.device.type == "cpu":
        # Use numpy, because torch's `argmax` takes ten times as long.
        return torch.from_numpy(logits.numpy().argmax(axis=-1))
    return logits.argmax(dim=-1)


def greedy_batch(
    model: Transformer, cache: DecoderCache, limits: Sequence[int], *, constraints: Constraints = UNCONSTRAINED
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Decode B sentences greedily in one batch, yielding each sentence as soon as it is complete.

    The tokens match those that `greedy` produces for each sentence alone.

    Args:
        model, cache: as in `decode_loop`.
        limits: maximum number of steps for each sentence, length B.
        constraints: as in `decode_loop`.

    Yields:
        Index of a completed sentence, and its token ids, including the end symbol if decoding reached it.
    """
    symbols = model.symbols
    read = cache.first_read(symbols.start)
    applied = constraints.applied(model.generator.out_features, limits, symbols, cache.device, model.config.generation)
    # Index of each batch row's sentence, and the tokens taken so far for each sentence.
    sentences = list(range(cache.batch_size))
    taken: list[list[int]] = [[] for _ in sentences]
    for number in range(max(limits)):
        logits, cache = logits_of_next(model, read, cache)
        read = applied.choose_(logits, number, most_likely, tokens=Tensor.tolist)
        going_on, tokens = [], read.tolist()
        for row, (sentence, token) in enumerate(zip(sentences, tokens, strict=True)):
            taken[sentence].append(token)
            if token == symbols.end or len(taken[sentence]) == limits[sentence]:
                yield sentence, tuple(taken[sentence])
            else:
                going_on.append(row)
        check_cancelled()
        if not going_on:
            return
        applied.follow(going_on, [tokens[row] for row in going_on])
        if len(going_on) < len(sentences):
            kept = torch.tensor(going_on, device=cache.device)
            cache, read, sentences = cache.select(kept), read[kept], [sentences[row] for row in going_on]
