"""Cost of attention as a function of text length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from transformer.config import Attention, TransformerConfig
from transformer.files.records import Record

ATTENTIONS: tuple[Attention, ...] = get_args(Attention)
# Each length is twice the previous one, so that they are evenly spaced on a logarithmic axis.
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
# Bytes of a number in a weight, a key or a value: float32.
NUMBER_BYTES = 4
# Slopes are fitted to the lengths from here on. In a shorter text, everything around the attention takes most of the
# time.
MIN_FITTED_LENGTH = 512


@dataclass(frozen=True)
class Cost:
    """The cost of one pass over a text.

    Attributes:
        attention: attention of the model.
        length: number of tokens of the text.
        weights: bytes of the attention weights of one head of one layer.
        keys_and_values: bytes of the keys and values that this head reads.
        seconds: duration of the pass.
    """

    attention: Attention
    length: int
    weights: int
    keys_and_values: int
    seconds: float


@dataclass(frozen=True)
class RecordedCosts(Record):
    """Costs that a command has measured and recorded.

    Attributes:
        costs: cost of every attention at every length.
        model: description of the measured model.
        machine: description of the machine.
        command: command that repeats the measurement.
    """

    costs: tuple[Cost, ...]
    model: str
    machine: str
    command: str


def cell_count(config: TransformerConfig, length: int) -> int:
    """Number of attention weights of one head that reads a text of T tokens.

    Full attention has T times T weights. Local attention has the squared size of a block, times the number of blocks.
    Compressed attention has T times ceil(T / stride).
    """
    if config.attention == "local":
        width = min(config.block, length)
        return -(-length // width) * width**2
    return length * key_count(config, length)


def key_count(config: TransformerConfig, length: int) -> int:
    """Number of keys that one head has for a text of T tokens."""
    return -(-length // config.stride) if config.attention == "compressed" else length


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """Return the exponent k of the power law c T^k fitted to the values, by least squares on logarithmic axes.

    Args:
        lengths: at least two different lengths T.
        values: above 0.
    """
    if len(set(lengths)) < 2:
        raise ValueError(f"a slope needs at least two different lengths, not {len(set(lengths))}")
    design = np.stack([np.log(lengths), np.ones(len(lengths))], axis=1)
    return float(np.linalg.lstsq(design, np.log(values), rcond=None)[0][0])


def slopes(costs: Sequence[Cost], quantity: str, *, first: int = MIN_FITTED_LENGTH) -> Mapping[Attention, float]:
    """Return each attention type's slope of a quantity, fitted to texts of at least `first` tokens.

    Attention types with fewer than two measured lengths are omitted.

    Args:
        quantity: a field of `Cost`.
    """
    slope_of = {}
    for attention in ATTENTIONS:
        long = [cost for cost in costs if cost.attention == attention and cost.length >= first]
        if len({each.length for each in long}) > 1:
            slope_of[attention] = slope([each.length for each in long], [getattr(each, quantity) for each in long])
    return slope_of
