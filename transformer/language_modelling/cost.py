"""What attention to a text costs, against the length of the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from transformer.config import Attention, TransformerConfig
from transformer.files.records import Record

ATTENTIONS: tuple[Attention, ...] = get_args(Attention)
# Doubled from length to length, so that they are evenly spread on a logarithmic axis.
LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
# Of a weight, a key or a value: float32.
NUMBER_BYTES = 4
# From this length on slopes are fitted: the time of a shorter text is that of everything around the attention.
FITTED_FROM = 512


@dataclass(frozen=True)
class Cost:
    """What one pass over a text takes.

    Attributes:
        attention: of the model.
        length: of the text, tokens.
        weights: bytes of the attention weights of one head of one layer.
        keys_and_values: bytes of what that head reads.
        seconds: of the pass.
    """

    attention: Attention
    length: int
    weights: int
    keys_and_values: int
    seconds: float


@dataclass(frozen=True)
class RecordedCosts(Record):
    """A measurement that a command has recorded.

    Attributes:
        costs: of every attention at every length.
        model: what was measured, in words.
        machine: where.
        command: that measures it again.
    """

    costs: tuple[Cost, ...]
    model: str
    machine: str
    command: str


def cells(config: TransformerConfig, length: int) -> int:
    """Attention weights of one head that reads a text of T tokens: T times T; with local attention as many blocks as
    there are, each squared; with compressed attention T times ceil(T / stride)."""
    if config.attention == "local":
        width = min(config.block, length)
        return -(-length // width) * width**2
    return length * keys(config, length)


def keys(config: TransformerConfig, length: int) -> int:
    """Keys that the heads of a text of T tokens read in all."""
    return -(-length // config.stride) if config.attention == "compressed" else length


def slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    """The exponent k of the power c T^k that fits values best, by least squares on logarithmic axes.

    Args:
        lengths: T, at least two different ones.
        values: above 0.
    """
    if len(set(lengths)) < 2:
        raise ValueError(f"a slope needs two lengths, not {len(set(lengths))}")
    design = np.stack([np.log(lengths), np.ones(len(lengths))], axis=1)
    return float(np.linalg.lstsq(design, np.log(values), rcond=None)[0][0])


def slopes(costs: Sequence[Cost], quantity: str, *, first: int = FITTED_FROM) -> Mapping[Attention, float]:
    """The slope of a quantity for each attention, over the texts of at least `first` tokens; without those for which
    fewer than two lengths are measured.

    Args:
        quantity: a field of `Cost`.
    """
    found = {}
    for attention in ATTENTIONS:
        long = [each for each in costs if each.attention == attention and each.length >= first]
        if len({each.length for each in long}) > 1:
            found[attention] = slope([each.length for each in long], [getattr(each, quantity) for each in long])
    return found
