"""Stores the intermediate results of a forward or backward pass by name, and defines how a page shows one.

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
    """One intermediate result in the form in which a page shows it.

    Attributes:
        key: name in the address of a page; unique in a list of stages.
        stack: stack that the result belongs to; the generator belongs to the decoder.
        layer: layer of that stack, from 0; None before the first layer and after the last.
        name: usual name of this part in the literature.
        formula: formula in LaTeX, without dollar signs.
        letters: shape in letters, such as "B, T, D".
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
    """Return the letter for the number of positions in a stack."""
    return "S" if stack == "encoder" else "T"


class Notes:
    """Intermediate results of a pass; every part of the pass receives this object, like a `transformer.model.recorder`.

    The forward pass stores values, and the backward pass stores gradients under the same names. Examples are "logits"
    and "encoder_layers.0.self_attention.scores".

    Args:
        nudges: numbers to add to some results, by name, before the pass continues with them.

    Attributes:
        values: stored results by name, in the order in which the pass computed them.
    """

    def __init__(self, nudges: Mapping[str, np.ndarray] | None = None) -> None:
        self.values: dict[str, np.ndarray] = {}
        self._nudges = nudges or {}
        self._prefix = ""

    def note(self, name: str, value: np.ndarray) -> np.ndarray:
        """Store a result, and return the value with which the pass continues."""
        name = self._prefix + name
        if name in self._nudges:
            value = value + self._nudges[name]
        self.values[name] = value
        return value

    def of(self, part: str) -> Notes:
        """Return the same notes for a part; its results get names that begin with the part's name."""
        notes = Notes(self._nudges)
        notes.values, notes._prefix = self.values, f"{self._prefix}{part}."
        return notes


def select(named: Mapping[str, T], part: str) -> dict[str, T]:
    """Return the entries that belong to a part, by their names within the part."""
    return {name.removeprefix(f"{part}."): each for name, each in named.items() if name.startswith(f"{part}.")}


def prefix(part: str, named: Mapping[str, T]) -> dict[str, T]:
    """Add the name of a part to the names of entries, the inverse of `select`."""
    return {f"{part}.{name}": each for name, each in named.items()}
