"""Splits one element of a gradient into the terms of the gradient's formula."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Terms:
    """N terms that sum to one number.

    Attributes:
        over: letter of the dimension that the sum runs over, such as "T"; or the names of the terms.
        factors: each term's factors, [N] each, by name.
        scale: additional factor of every term.
    """

    over: str | tuple[str, ...]
    factors: Mapping[str, np.ndarray]
    scale: float = 1.0

    @property
    def products(self) -> np.ndarray:
        """Values of the terms, [N]: each is the product of the term's factors and `scale`."""
        return self.scale * np.prod(list(self.factors.values()), axis=0)

    @property
    def total(self) -> float:
        return float(self.products.sum())


class Formula(Protocol):
    """The computation of a matrix, described so that each element can be split into terms."""

    def terms(self, row: int, column: int) -> Terms:
        """Return the terms that add up to one element of the matrix."""
        ...


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product: left [R, N] times right [N, C] times `scale`; left and right are (name, matrix) pairs."""

    left: tuple[str, np.ndarray]
    right: tuple[str, np.ndarray]
    over: str
    scale: float = 1.0

    def terms(self, row: int, column: int) -> Terms:
        (left, a), (right, b) = self.left, self.right
        return Terms(self.over, {left: a[row], right: b[:, column]}, self.scale)


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of named matrices, [R, C] each."""

    parts: Mapping[str, np.ndarray]

    def terms(self, row: int, column: int) -> Terms:
        return Terms(tuple(self.parts), {"term": np.array([part[row, column] for part in self.parts.values()])})


@dataclass(frozen=True, eq=False)
class Pointwise:
    """An elementwise product of named matrices, [R, C] each."""

    factors: Mapping[str, np.ndarray]

    def terms(self, row: int, column: int) -> Terms:
        return Terms(("product",), {name: each[row, column][None] for name, each in self.factors.items()})


@dataclass(frozen=True, eq=False)
class ColumnSum:
    """An elementwise product of named matrices, [N, C] each, summed over the rows to [1, C]."""

    factors: Mapping[str, np.ndarray]
    over: str

    def terms(self, row: int, column: int) -> Terms:
        return Terms(self.over, {name: each[:, column] for name, each in self.factors.items()})
