"""Stores named intermediate results of a forward or backward pass, and defines the format in which pages show them.

A result can be inspected, compared with other results, or changed by a small amount (a nudge).
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
    """An intermediate result, as shown on a page.

    Attributes:
        key: name of the stage in a page's URL; unique in a list of stages.
        stack: stack that the result belongs to; the generator counts as part of the decoder.
        layer: 0-based layer of the stack; None before the first layer and after the last.
        name: usual name of the result in the literature.
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
    """Return the letter for the number of positions in a stack: S in the encoder, T in the decoder."""
    return "S" if stack == "encoder" else "T"


class Notes:
    """Stores the intermediate results of a pass by name. Every part of the model receives this object.

    The forward pass stores values, and the backward pass stores gradients under the same names. Examples of names
    are "logits" and "encoder_layers.0.self_attention.scores".

    Args:
        nudges: small arrays to add to some results, by name, before the pass continues.

    Attributes:
        values: stored results by name, in computation order.
    """

    def __init__(self, nudges: Mapping[str, np.ndarray] | None = None) -> None:
        self.values: dict[str, np.ndarray] = {}
        self._nudges = nudges or {}
        self._prefix = ""

    def note(self, name: str, value: np.ndarray) -> np.ndarray:
        """Store a result and return it. If `nudges` has an entry with the result's name, the entry is added first."""
        name = self._prefix + name
        if name in self._nudges:
            value = value + self._nudges[name]
        self.values[name] = value
        return value

    def of(self, part: str) -> Notes:
        """Return a view of these notes for one model part. The view puts the part's name before each result's name."""
        notes = Notes(self._nudges)
        notes.values, notes._prefix = self.values, f"{self._prefix}{part}."
        return notes


def select(arrays: Mapping[str, T], part: str) -> dict[str, T]:
    """Return the entries of one model part, with the part's name removed from the entries' names."""
    return {name.removeprefix(f"{part}."): each for name, each in arrays.items() if name.startswith(f"{part}.")}


def prefix(part: str, arrays: Mapping[str, T]) -> dict[str, T]:
    """Prefix every name with the name of a model part and a dot; the inverse of `select`."""
    return {f"{part}.{name}": each for name, each in arrays.items()}
