"""What a language model loses by its attention: held-out losses of models that were trained alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.config import Attention
from transformer.files.records import Record


@dataclass(frozen=True)
class AttentionLoss:
    """How good one model became.

    Attributes:
        attention, seed, parameters: of the model.
        held_out: mean loss of held-out texts, nats a token.
        seconds: of the training.
    """

    attention: Attention
    seed: int
    parameters: int
    held_out: float
    seconds: float


@dataclass(frozen=True)
class RecordedLosses(Record):
    """What a command has recorded.

    Attributes:
        losses: of every model.
        context: tokens that a model reads at once.
        block, stride: of local and of compressed attention.
        pieces: of the held-out texts.
        model, training, machine: in words.
        command: that trains and measures again.
    """

    losses: tuple[AttentionLoss, ...]
    context: int
    block: int
    stride: int
    pieces: int
    model: str
    training: str
    machine: str
    command: str

    def of(self, attention: Attention) -> tuple[AttentionLoss, ...]:
        """The models with an attention, one a seed."""
        return tuple(each for each in self.losses if each.attention == attention)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and the distance from it of the value that is farthest away."""
    mean = float(np.mean(values))
    return mean, float(np.abs(np.array(values) - mean).max())
