"""One hypothesis a sentence, piece after piece: the loop that greedy decoding and sampling share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import torch
from torch import Tensor

from transformer.decoding.constraints import Constraints
from transformer.decoding.step import Step, predict
from transformer.model import Transformer
from transformer.options import AS_TRAINED, RunOptions
from transformer.tokenizer import END, PAD, START


def walk(
    model: Transformer,
    memory: Tensor,
    source_real: Tensor | None,
    choose: Callable[[Tensor], tuple[Tensor, Tensor]],
    *,
    limit: int,
    constraints: Constraints,
    options: RunOptions = AS_TRAINED,
    capture: bool,
) -> Iterator[Step]:
    """Decode B sentences side by side until each has predicted the end symbol.

    Args:
        model: in evaluation mode.
        memory: the encoder's output [B, S, D].
        source_real: bool [B, S], False on padding; None when there is none.
        choose: from the logits [B, V] that the constraints leave, the logits that it chose from and the pieces
            chosen [B]. It is called once a step, forced or not.
        limit: most steps to take.
        constraints: pieces forced and banned.
        options: those that `memory` was made with.
        capture: keep the attention rows of every step.

    Yields:
        A step for each piece, the end symbol's included.

    Raises:
        ValueError: the constraints cannot be followed.
    """
    constraints.check(model.config.target_vocabulary, limit)
    cache = model.begin(memory, source_real, options=options)
    read = torch.full((len(memory),), START, device=memory.device)
    ended = torch.zeros_like(read, dtype=torch.bool)
    score = torch.zeros(len(memory), dtype=torch.float64)
    for number in range(limit):
        began = perf_counter()
        distribution, cache = predict(model, read, cache, capture=capture)
        logits, predicted = choose(constraints.apply(distribution.log_probs, number))
        log_prob = distribution.log_probs.gather(-1, predicted[:, None]).squeeze(-1).masked_fill(ended, 0.0)
        predicted = predicted.masked_fill(ended, PAD)
        score = score + log_prob.cpu().double()
        ended = ended | (predicted == END)
        over = bool(ended.all())
        yield Step(read, distribution, logits, predicted, log_prob, score, perf_counter() - began)
        if over:
            return
        read = predicted
