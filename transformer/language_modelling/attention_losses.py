"""Held-out losses of language models that differ only in the type of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.config import Attention
from transformer.files.records import Record


@dataclass(frozen=True)
class AttentionLoss:
    """Held-out loss of one trained model.

    Attributes:
        attention, seed, parameters: the model's attention type, random seed and number of parameters.
        held_out: mean loss on held-out texts, nats per token.
        seconds: duration of the training.
    """

    attention: Attention
    seed: int
    parameters: int
    held_out: float
    seconds: float


@dataclass(frozen=True)
class RecordedLosses(Record):
    """Losses on held-out texts that a command has measured and recorded.

    Attributes:
        losses: losses of every model.
        context: number of tokens that a model reads in one pass.
        block, stride: sizes of local and of compressed attention.
        tokens: number of tokens of the held-out texts.
        model, training, machine: descriptions in words.
        command: command that trains and measures again.
    """

    losses: tuple[AttentionLoss, ...]
    context: int
    block: int
    stride: int
    tokens: int
    model: str
    training: str
    machine: str
    command: str

    def _written(self) -> dict[str, Any]:
        # The file keeps the name that older versions read.
        return {"pieces" if name == "tokens" else name: value for name, value in vars(self).items()}

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"tokens": values["pieces"]}

    def of(self, attention: Attention) -> tuple[AttentionLoss, ...]:
        """Return the losses of the models with one type of attention, one per seed."""
        return tuple(loss for loss in self.losses if loss.attention == attention)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the values, and their largest distance from it."""
    mean = float(np.mean(values))
    return mean, float(np.abs(np.array(values) - mean).max())
