"""Explains one number of a gradient as the sum that a formula stands for, term by term."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, eq=False)
class Terms:
    """N terms that add up to one number.

    Attributes:
        over: the letter of a shape that counts the terms, such as "T"; or their names.
        factors: of each term by name, [N] each.
        scale: an additional factor of every term.
    """

    over: str | tuple[str, ...]
    factors: Mapping[str, np.ndarray]
    scale: float = 1.0

    @property
    def products(self) -> np.ndarray:
        """The terms, [N]."""
        return self.scale * np.prod(list(self.factors.values()), axis=0)

    @property
    def total(self) -> float:
        return float(self.products.sum())


class Formula(Protocol):
    """Describes how a matrix is computed, so that each of its numbers can be computed again."""

    def terms(self, row: int, column: int) -> Terms:
        """The terms that add up to one number of the matrix."""
        ...


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product: left [R, N] times right [N, C], both with their names, times a number."""

    left: tuple[str, np.ndarray]
    right: tuple[str, np.ndarray]
    over: str
    scale: float = 1.0

    def terms(self, row: int, column: int) -> Terms:
        (left, a), (right, b) = self.left, self.right
        return Terms(self.over, {left: a[row], right: b[:, column]}, self.scale)


@dataclass(frozen=True, eq=False)
class Sum:
    """A sum of matrices [R, C] by name."""

    parts: Mapping[str, np.ndarray]

    def terms(self, row: int, column: int) -> Terms:
        return Terms(tuple(self.parts), {"term": np.array([part[row, column] for part in self.parts.values()])})


@dataclass(frozen=True, eq=False)
class Pointwise:
    """Matrices [R, C] by name, multiplied number by number."""

    factors: Mapping[str, np.ndarray]

    def terms(self, row: int, column: int) -> Terms:
        return Terms(("product",), {name: each[row, column][None] for name, each in self.factors.items()})


@dataclass(frozen=True, eq=False)
class ColumnSum:
    """Matrices [N, C] by name, multiplied number by number and added up over the rows, to [1, C]."""

    factors: Mapping[str, np.ndarray]
    over: str

    def terms(self, row: int, column: int) -> Terms:
        return Terms(self.over, {name: each[:, column] for name, each in self.factors.items()})
