"""Decoding loop for greedy decoding and sampling: one hypothesis per sentence, extended by one token per step."""

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
    """Decode B sentences in one batch until each has predicted the end symbol.

    Args:
        model: in evaluation mode; call under `torch.inference_mode()`.
        cache: decoder cache from the model's `start_cache`, which holds the encoded source and the interventions.
        choose: function that maps constrained logits [B, V] to the tokens to take, [B]. Called once per step, even
            within a forced prefix.
        again: like `choose`, but called to replace tokens that would break a character, with such tokens excluded from
            the logits; None to call `choose` again.
        limit: maximum number of steps.
        constraints: required and banned tokens.
        capture: whether to record attention weights in the steps.

    Yields:
        One step per token, including the end symbol.

    Raises:
        ValueError: no token satisfies the constraints.
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
        # `generate` settings need logits, because the repetition penalty depends on a logit's sign.
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
        tokens = predicted.tolist()
        ended = [before or token == symbols.end for before, token in zip(ended, tokens, strict=True)]
        if all(ended):
            return
        applied.follow(rows, tokens)
        read = predicted


def watched(steps: Iterator[AnyStep]) -> Iterator[AnyStep]:
    """Yield a search's steps, calling `check_cancelled` after each step is computed."""
    for step in steps:
        check_cancelled()
        yield step
