"""Stores the intermediate results of a pass by name, and defines the form in which a page shows one.

Each result can be inspected, compared, or nudged.
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
    """One intermediate result, as it is shown.

    Attributes:
        key: its name in a URL; unique in a list of stages.
        stack: the stack that it belongs to; the generator belongs to the decoder.
        layer: of that stack, from 0; None before the first layer and after the last.
        name: of this part in the literature.
        formula: LaTeX, without dollar signs.
        letters: of the shape, such as "B, T, D".
        array: the numbers, in that shape.
    """

    key: str
    stack: Stack
    layer: int | None
    name: str
    formula: str
    letters: str
    array: np.ndarray


def rows_of(stack: Stack) -> str:
    """The letter of the positions of a stack."""
    return "S" if stack == "encoder" else "T"


class Notes:
    """Intermediate results of one pass. Every part of the pass gets this object, like a `transformer.model.recorder`.

    The forward pass notes values and the backward pass gradients, under the same names: "logits",
    "encoder_layers.0.self_attention.scores".

    Args:
        nudges: numbers to add to some of the results, by name, before the pass continues with them.

    Attributes:
        values: by name, in the order in which the pass computed them.
    """

    def __init__(self, nudges: Mapping[str, np.ndarray] | None = None) -> None:
        self.values: dict[str, np.ndarray] = {}
        self._nudges = nudges or {}
        self._prefix = ""

    def note(self, name: str, value: np.ndarray) -> np.ndarray:
        """Note a result; return the value with which the pass continues."""
        name = self._prefix + name
        if name in self._nudges:
            value = value + self._nudges[name]
        self.values[name] = value
        return value

    def of(self, part: str) -> Notes:
        """The same notes for a part; all its names begin with the name of the part."""
        notes = Notes(self._nudges)
        notes.values, notes._prefix = self.values, f"{self._prefix}{part}."
        return notes


def select(named: Mapping[str, T], part: str) -> dict[str, T]:
    """The entries that belong to a part, by their names within it."""
    return {name.removeprefix(f"{part}."): each for name, each in named.items() if name.startswith(f"{part}.")}


def prefix(part: str, named: Mapping[str, T]) -> dict[str, T]:
    """Undo `select`."""
    return {f"{part}.{name}": each for name, each in named.items()}
