"""The loop of greedy decoding and sampling: one hypothesis per sentence, token by token, until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import torch
from torch import Tensor

from transformer.decoding.constraints import Constraints
from transformer.decoding.step import Step, predict
from transformer.model.kv_cache import DecoderCache
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled

AnyStep = TypeVar("AnyStep", bound=Step)


def decode_loop(
    model: Transformer,
    cache: DecoderCache,
    choose: Callable[[Tensor], Tensor],
    *,
    again: Callable[[Tensor], Tensor] | None = None,
    limit: int,
    constraints: Constraints,
    capture: bool,
) -> Iterator[Step]:
    """Decode B sentences side by side until each has predicted the end symbol.

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        cache: cache of the model's `start_cache`, with its inputs and the edits of the run.
        choose: returns the tokens [B] to take, given the logits [B, V] after the constraints. It is called once per
            step, also in the prefix.
        again: returns the tokens [B] to take instead of those that would break a character, given the logits of the
            others; None for `choose`.
        limit: maximum number of steps.
        constraints: tokens that must or must not be taken.
        capture: return the attention rows of every step.

    Yields:
        A step for each token, the end symbol's included.

    Raises:
        ValueError: the constraints cannot be followed.
    """
    symbols = model.symbols
    applied = constraints.applied(
        model.generator.out_features, [limit] * cache.sentences, symbols, cache.device, model.config.generation
    )
    read = cache.first_read(symbols.start)
    rows = range(cache.sentences)
    ended = [False] * cache.sentences
    score = torch.zeros(cache.sentences, dtype=torch.float64)
    for number in range(limit):
        logits, distribution, cache = predict(model, read, cache, capture=capture)
        # A repetition penalty depends on the sign of a logit.
        logits = applied.exclude_(logits if applied.rules else distribution.log_probs.clone(), number)
        predicted = choose(logits)
        if applied.may_break(predicted.tolist(), number):
            logits = applied.exclude_broken_characters_(logits, number)
            allowed = logits.gather(-1, predicted.unsqueeze(-1)).squeeze(-1) > float("-inf")
            if not allowed.all():
                predicted = torch.where(allowed, predicted, (again or choose)(logits))
        log_prob = distribution.log_probs.gather(-1, predicted.unsqueeze(-1)).squeeze(-1)
        if any(ended):
            padding = torch.tensor(ended, device=cache.device)
            log_prob, predicted = log_prob.masked_fill(padding, 0.0), predicted.masked_fill(padding, symbols.pad)
        score = score + log_prob.cpu()
        yield Step(read, distribution, predicted, log_prob, score)
        pieces = predicted.tolist()
        ended = [before or piece == symbols.end for before, piece in zip(ended, pieces, strict=True)]
        if all(ended):
            return
        applied.follow(rows, pieces)
        read = predicted


def watched(steps: Iterator[AnyStep]) -> Iterator[AnyStep]:
    """Yield the steps of a search, which can be cancelled after each of them."""
    for step in steps:
        check_cancelled()
        yield step
