"""Greedy decoding: always the likeliest next piece."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from transformer.decoding.step import Step, predict
from transformer.model import Transformer
from transformer.options import AS_TRAINED, RunOptions
from transformer.tokenizer import END, PAD, START


def greedy(
    model: Transformer,
    memory: Tensor,
    source_real: Tensor,
    *,
    limit: int,
    options: RunOptions = AS_TRAINED,
    capture: bool = False,
) -> Iterator[Step]:
    """Decode B sentences side by side until each has predicted the end symbol.

    Args:
        model: in evaluation mode.
        memory: the encoder's output [B, S, D].
        source_real: bool [B, S], False on padding.
        limit: most steps to take.
        options: those that `memory` was made with.
        capture: keep the attention rows of every step.

    Yields:
        A step for each piece, the end symbol's included.
    """
    cache = model.begin(memory, source_real, options=options)
    read = torch.full((len(memory),), START, device=memory.device)
    ended = torch.zeros_like(read, dtype=torch.bool)
    for _ in range(limit):
        distribution, cache = predict(model, read, cache, capture=capture)
        log_prob, predicted = distribution.log_probs.max(dim=-1)
        predicted = predicted.masked_fill(ended, PAD)
        yield Step(read, predicted, log_prob.masked_fill(ended, 0.0), distribution)
        ended = ended | (predicted == END)
        if bool(ended.all()):
            return
        read = predicted
