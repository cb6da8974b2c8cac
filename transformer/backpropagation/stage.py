"""One stage of the way back: a gradient with its formula, and everything to check it with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.notes import Stage
from transformer.backpropagation.sentence import SentenceGradients
from transformer.backpropagation.sums import Formula
from transformer.values.trace import Stack

View = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Point:
    """Where the numbers of a stage stand in a parameter or an intermediate result, to nudge one of them.

    Attributes:
        name: of the whole.
        shape: of the whole.
        place: the index there of the number in a row and a column of the stage.
    """

    name: str
    shape: tuple[int, ...]
    place: Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class GradientStage(Stage):
    """One gradient; `array` is the one by hand.

    Attributes:
        values: what the gradient belongs to, [R, C].
        reference: the gradient by autograd, [R, C].
        terms_of: how each number is a sum; None where it comes from a layer that is not shown.
        point: where the numbers stand.
        learned: whether they belong to parameters.
        masked: bool [R, C], True where nothing may be looked at; None where there is no mask.
        pieces: ids of the rows of a table; empty where rows are no tokens of the vocabulary.
    """

    values: np.ndarray
    reference: np.ndarray
    terms_of: Formula | None
    point: Point
    learned: bool = False
    masked: np.ndarray | None = None
    pieces: tuple[int, ...] = ()

    @property
    def matrix(self) -> np.ndarray:
        """The gradient [R, C], without the batch of 1 that `array` may have."""
        return self.array[0] if self.letters.startswith("B") else self.array


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes stages of what was computed.

    Attributes:
        found: all of it.
        head: whose attention is shown.
    """

    found: SentenceGradients
    head: int

    @property
    def seen(self) -> str:
        """What a sub-layer reads, in LaTeX."""
        return r"\hat{x}" if self.found.config.norm == "pre" else "x"

    @property
    def seen_name(self) -> str:
        """The same in a table."""
        return "x̂" if self.found.config.norm == "pre" else "x"

    def point(
        self, key: str, stack: Stack, layer: int | None, title: str, formula: str, letters: str, name: str, view: View,
        terms_of: Formula | None, masked: np.ndarray | None = None,
    ) -> GradientStage:
        """A stage of an intermediate result.

        Args:
            key, stack, layer, formula, letters: of the stage.
            title: its name.
            name: of the intermediate result.
            view: what the stage shows of it, [R, C].
            terms_of, masked: of the stage.
        """
        return self._stage(key, stack, layer, title, formula, letters, name, view, terms_of, masked=masked)

    def parameter(
        self, key: str, stack: Stack, layer: int | None, title: str, formula: str, letters: str, name: str, view: View,
        terms_of: Formula,
    ) -> GradientStage:
        """A stage of a parameter; otherwise as `point`."""
        return self._stage(key, stack, layer, title, formula, letters, name, view, terms_of)

    def table(
        self, key: str, stack: Stack, title: str, formula: str, letters: str, name: str, terms_of: Formula
    ) -> GradientStage:
        """A stage of a parameter with a row for each token of the vocabulary, of which `found` has some."""
        found, pieces = self.found, self.found.rows[name]

        vocabulary = (
            found.config.source_vocabulary if name.startswith("source") else found.config.target_vocabulary
        )

        def place(row: int, column: int) -> tuple[int, ...]:
            return (pieces[row], column)[: found.values[name].ndim]

        return GradientStage(
            key, stack, None, title, formula, letters, found.gradients[name].reshape(len(pieces), -1),
            found.values[name].reshape(len(pieces), -1), found.reference[name].reshape(len(pieces), -1), terms_of,
            Point(name, (vocabulary, *found.values[name].shape[1:]), place), learned=True, pieces=pieces,
        )

    def _stage(
        self, key: str, stack: Stack, layer: int | None, title: str, formula: str, letters: str, name: str, view: View,
        terms_of: Formula | None, *, masked: np.ndarray | None = None,
    ) -> GradientStage:
        found = self.found
        shape, gradient = found.values[name].shape, view(found.gradients[name])

        def place(row: int, column: int) -> tuple[int, ...]:
            # The same view of the numbers 0, 1, 2, ... says which one is meant.
            number = view(np.arange(found.values[name].size).reshape(shape))[row, column]
            return tuple(int(each) for each in np.unravel_index(number, shape))

        batched = letters.startswith("B")
        return GradientStage(
            key, stack, layer, title, formula, letters, gradient[None] if batched else gradient,
            view(found.values[name]), view(found.reference[name]), terms_of, Point(name, shape, place),
            learned=not batched, masked=masked,
        )
