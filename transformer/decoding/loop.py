"""Decoding loop for greedy decoding and sampling: one hypothesis per sentence, extended by one token per step."""

from collections.abc import Callable, Iterator
from functools import partial
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
    """Decode B sentences in one batch, until each has its end symbol or the limit is reached.

    Args:
        model: model in evaluation mode; call this function under `torch.inference_mode()`.
        cache: decoder cache from the model's `start_cache`, which contains the encoded source and the interventions.
        choose: function that maps constrained logits [B, V] to the tokens to take, [B]. Called at every step, even
            within a forced prefix.
        again: like `choose`, but called to replace tokens that would leave a character incomplete. The logits exclude
            such tokens. None to call `choose` again.
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
        model.generator.out_features, [limit] * cache.batch_size, symbols, cache.device, model.config.generation
    )
    read = cache.first_read(symbols.start)
    every_row = range(cache.batch_size)
    ended = [False] * cache.batch_size
    score = torch.zeros(cache.batch_size, dtype=torch.float64)
    correct = partial(_replace_broken, again or choose)
    for number in range(limit):
        logits, distribution, cache = predict(model, read, cache, capture=capture)
        # Apply the `generate` settings to logits, not log-probabilities: a repetition penalty depends on the sign.
        logits = logits if applied.rules else distribution.log_probs.clone()
        predicted = applied.choose_(logits, number, choose, tokens=Tensor.tolist, again=correct)
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
        applied.follow(every_row, tokens)
        read = predicted


def _replace_broken(choose: Callable[[Tensor], Tensor], logits: Tensor, predicted: Tensor) -> Tensor:
    """Return the predicted tokens [B], or tokens from `choose` where the logits [B, V] exclude the predicted token."""
    allowed = logits.gather(-1, predicted.unsqueeze(-1)).squeeze(-1) > float("-inf")
    return predicted if allowed.all() else torch.where(allowed, predicted, choose(logits))


def watched(steps: Iterator[AnyStep]) -> Iterator[AnyStep]:
    """Yield a search's steps, calling `check_cancelled` after each step is computed."""
    for step in steps:
        check_cancelled()
        yield step
