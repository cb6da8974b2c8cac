"""Stores intermediate results of a forward or backward pass by name, and defines how a page shows one.

Each stored result can be inspected, compared with another, or changed by a small amount (a nudge).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from transformer.values.trace import Stack

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Stage:
    """An intermediate result, as a page shows it.

    Attributes:
        key: name of the stage in a page's URL; unique in a list of stages.
        stack: stack that the result belongs to; the generator counts as part of the decoder.
        layer: 0-based layer of the stack; None before the first layer and after the last.
        name: usual name of this part of the model in the literature.
        formula: formula in LaTeX, without dollar signs.
        letters: shape of `array` in letters, such as "B, T, D".
        array: the values.
    """

    key: str
    stack: Stack
    layer: int | None
    name: str
    formula: str
    letters: str
    array: np.ndarray


def length_letter(stack: Stack) -> str:
    """Return the letter that stands for the number of positions in a stack."""
    return "S" if stack == "encoder" else "T"


class Notes:
    """Intermediate results of a pass. Every part of the pass receives this object, like a `transformer.model.recorder`.

    The forward pass stores values, and the backward pass stores gradients under the same names. Examples are "logits"
    and "encoder_layers.0.self_attention.scores".

    Args:
        nudges: numbers to add to some results, by name, before the pass continues.

    Attributes:
        values: stored results by name, in computation order.
    """

    def __init__(self, nudges: Mapping[str, np.ndarray] | None = None) -> None:
        self.values: dict[str, np.ndarray] = {}
        self._nudges = nudges or {}
        self._prefix = ""

    def note(self, name: str, value: np.ndarray) -> np.ndarray:
        """Store a result, and return the value with which the pass continues: the result plus its nudge, if any."""
        name = self._prefix + name
        if name in self._nudges:
            value = value + self._nudges[name]
        self.values[name] = value
        return value

    def of(self, part: str) -> Notes:
        """Return a view of these notes for a part of the model; result names get the part's name as a prefix."""
        notes = Notes(self._nudges)
        notes.values, notes._prefix = self.values, f"{self._prefix}{part}."
        return notes


def select(arrays: Mapping[str, T], part: str) -> dict[str, T]:
    """Return the entries that belong to a part, under their names within the part."""
    return {name.removeprefix(f"{part}."): each for name, each in arrays.items() if name.startswith(f"{part}.")}


def prefix(part: str, arrays: Mapping[str, T]) -> dict[str, T]:
    """Add a part's name in front of the entries' names, the inverse of `select`."""
    return {f"{part}.{name}": each for name, each in arrays.items()}
