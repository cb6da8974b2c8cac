"""Held-out losses of language models that differ only in seed and attention type (full, local, compressed)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.config import Attention
from transformer.files.records import Record


@dataclass(frozen=True)
class AttentionLoss:
    """Held-out loss of one trained language model.

    Attributes:
        attention, seed, parameters: the model's attention type, random seed and number of parameters.
        held_out: mean loss on held-out texts, nats per token.
        seconds: training time, in seconds.
    """

    attention: Attention
    seed: int
    parameters: int
    held_out: float
    seconds: float


@dataclass(frozen=True)
class RecordedLosses(Record):
    """Recorded held-out losses of several language models.

    Attributes:
        losses: the models' losses.
        context: number of tokens that a model reads in one pass.
        block: block size of local attention.
        stride: stride of compressed attention.
        tokens: number of tokens in the held-out texts.
        model, training, machine: descriptions in words.
        command: shell command that repeats the training and the measurement.
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
        # The file still uses the old key `pieces`, so that older versions can read it.
        return {"pieces" if name == "tokens" else name: value for name, value in vars(self).items()}

    @classmethod
    def _fields(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"tokens": values["pieces"]}

    def of(self, attention: Attention) -> tuple[AttentionLoss, ...]:
        """Return the losses of all models with the given attention type, one per seed."""
        return tuple(loss for loss in self.losses if loss.attention == attention)


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean of the values, and the largest distance of a value from the mean."""
    mean = float(np.mean(values))
    return mean, float(np.abs(np.array(values) - mean).max())
