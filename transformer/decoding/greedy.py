"""Greedy decoding: always the likeliest next piece."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.step import Step
from transformer.decoding.walk import walk
from transformer.model import Transformer
from transformer.options import AS_TRAINED, RunOptions


def greedy(
    model: Transformer,
    memory: Tensor,
    source_real: Tensor | None,
    *,
    limit: int,
    constraints: Constraints = UNCONSTRAINED,
    options: RunOptions = AS_TRAINED,
    capture: bool = False,
) -> Iterator[Step]:
    """Take the likeliest piece at every step; arguments, steps and errors are those of `walk`."""
    return walk(
        model, memory, source_real, lambda logits: (logits, logits.argmax(dim=-1)),
        limit=limit, constraints=constraints, options=options, capture=capture,
    )
