"""Memory and time of attention as a function of text length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from transformer.config import Attention, TransformerConfig
from transformer.files.records import Record

ATTENTIONS: tuple[Attention, ...] = get_args(Attention)
# Each length is twice the previous one, so that the lengths are evenly spaced on a logarithmic axis.
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
# Bytes per number in weights, keys and values, which are float32.
NUMBER_BYTES = 4
# Shortest text, in tokens, that is used to fit the growth of costs with length. For shorter texts, most time is spent
# outside attention.
MIN_FITTED_LENGTH = 512


@dataclass(frozen=True)
class Cost:
    """Cost of one forward pass over a text.

    Attributes:
        attention: the model's attention type.
        length: number of tokens in the text.
        weights: size of one head's attention weights, bytes.
        keys_and_values: size of the keys and values that one head reads, bytes.
        seconds: duration of the pass.
    """

    attention: Attention
    length: int
    weights: int
    keys_and_values: int
    seconds: float


@dataclass(frozen=True)
class RecordedCosts(Record):
    """Recorded measurements of the cost of attention.

    Attributes:
        costs: measured costs, one per attention type and length.
        model: description of the measured model.
        machine: description of the machine.
        command: shell command that repeats the measurement.
    """

    costs: tuple[Cost, ...]
    model: str
    machine: str
    command: str


def cell_count(config: TransformerConfig, length: int) -> int:
    """Return the number of attention weights that one head computes for a text with T = `length` tokens.

    Full attention computes T * T weights, and compressed attention computes T * ceil(T / stride) weights. Local
    attention computes N * N weights for each block of N positions.
    """
    if config.attention == "local":
        width = min(config.block, length)
        return -(-length // width) * width**2
    return length * key_count(config, length)


def key_count(config: TransformerConfig, length: int) -> int:
    """Return the number of keys that one head computes for a text with `length` tokens."""
    return -(-length // config.stride) if config.attention == "compressed" else length


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """Return the exponent k of the power law c T^k fitted to the values, by least squares on logarithmic axes.

    Args:
        lengths: text lengths T, at least two of them distinct.
        values: positive values, one per length.
    """
    if len(set(lengths)) < 2:
        raise ValueError(f"a slope needs at least two different lengths, not {len(set(lengths))}")
    design = np.stack([np.log(lengths), np.ones(len(lengths))], axis=1)
    return float(np.linalg.lstsq(design, np.log(values), rcond=None)[0][0])


def slopes(costs: Sequence[Cost], quantity: str, *, first: int = MIN_FITTED_LENGTH) -> Mapping[Attention, float]:
    """Return, by attention type, the exponent k of a cost that grows as T^k with text length T.

    An attention type is omitted if fewer than two of its measured lengths are at least `first`.

    Args:
        costs: measured costs.
        quantity: name of the `Cost` field to fit.
        first: minimum length of the texts to which k is fitted, in tokens.
    """
    slope_of = {}
    for attention in ATTENTIONS:
        long = [cost for cost in costs if cost.attention == attention and cost.length >= first]
        if len({each.length for each in long}) > 1:
            slope_of[attention] = slope([each.length for each in long], [getattr(each, quantity) for each in long])
    return slope_of
