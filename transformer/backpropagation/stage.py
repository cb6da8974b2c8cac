"""One stage of the backward pass: a gradient with its formula, and everything needed to check it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.notes import Stage
from transformer.backpropagation.sentence import SentenceGradients
from transformer.backpropagation.sums import Formula
from transformer.values.trace import PARTS, SIDES, Part, Stack

View = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Point:
    """Location of a stage's numbers in a parameter or an intermediate result, to nudge one of them.

    Attributes:
        name: of the parameter or result.
        shape: of the parameter or result.
        place: maps a row and a column of the stage to the index of that number in the parameter or result.
    """

    name: str
    shape: tuple[int, ...]
    place: Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class GradientStage(Stage):
    """One gradient; `array` is the gradient computed by hand.

    Attributes:
        values: the numbers that the gradient belongs to, [R, C].
        reference: the gradient by autograd, [R, C].
        terms_of: how each number is a sum; None if it comes from a layer that is not shown.
        point: location of the numbers.
        learned: whether they belong to parameters.
        masked: bool [R, C], True for masked cells; None if there is no mask.
        pieces: ids of the rows of a table; empty if rows are not tokens of the vocabulary.
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
class StageBuilder:
    """Makes stages from the computed gradients.

    Attributes:
        found: all computed gradients.
        head: the head whose attention is shown.
    """

    found: SentenceGradients
    head: int

    @property
    def seen(self) -> str:
        """The input of a sub-layer, in LaTeX."""
        return r"\hat{x}" if self.found.config.norm == "pre" else "x"

    @property
    def seen_name(self) -> str:
        """The input of a sub-layer, as named in a table."""
        return "x̂" if self.found.config.norm == "pre" else "x"

    def point(
        self,
        key: str,
        stack: Stack,
        layer: int | None,
        title: str,
        formula: str,
        letters: str,
        name: str,
        view: View,
        terms_of: Formula | None,
        masked: np.ndarray | None = None,
    ) -> GradientStage:
        """A stage of an intermediate result.

        Args:
            key, stack, layer, formula, letters: of the stage.
            title: its name.
            name: of the intermediate result.
            view: selects the part that the stage shows, [R, C].
            terms_of, masked: of the stage.
        """
        return self._stage(key, stack, layer, title, formula, letters, name, view, terms_of, masked=masked)

    def parameter(
        self,
        key: str,
        stack: Stack,
        layer: int | None,
        title: str,
        formula: str,
        letters: str,
        name: str,
        view: View,
        terms_of: Formula,
    ) -> GradientStage:
        """A stage of a parameter; otherwise as `point`."""
        return self._stage(key, stack, layer, title, formula, letters, name, view, terms_of)

    def table(
        self, key: str, stack: Stack, title: str, formula: str, letters: str, name: str, terms_of: Formula
    ) -> GradientStage:
        """A stage of a parameter with a row for each token of the vocabulary; `found` has some of these rows."""
        found, pieces = self.found, self.found.rows[name]

        vocabulary = found.config.source_vocabulary if name.startswith("source") else found.config.target_vocabulary

        def place(row: int, column: int) -> tuple[int, ...]:
            return (pieces[row], column)[: found.values[name].ndim]

        return GradientStage(
            key,
            stack,
            None,
            title,
            formula,
            letters,
            found.gradients[name].reshape(len(pieces), -1),
            found.values[name].reshape(len(pieces), -1),
            found.reference[name].reshape(len(pieces), -1),
            terms_of,
            Point(name, (vocabulary, *found.values[name].shape[1:]), place),
            learned=True,
            pieces=pieces,
        )

    def _stage(
        self,
        key: str,
        stack: Stack,
        layer: int | None,
        title: str,
        formula: str,
        letters: str,
        name: str,
        view: View,
        terms_of: Formula | None,
        *,
        masked: np.ndarray | None = None,
    ) -> GradientStage:
        found = self.found
        shape, gradient = found.values[name].shape, view(found.gradients[name])

        def place(row: int, column: int) -> tuple[int, ...]:
            # The same view of the numbers 0, 1, 2, ... gives the index of the number.
            number = view(np.arange(found.values[name].size).reshape(shape))[row, column]
            return tuple(int(each) for each in np.unravel_index(number, shape))

        batched = letters.startswith("B")
        return GradientStage(
            key,
            stack,
            layer,
            title,
            formula,
            letters,
            gradient[None] if batched else gradient,
            view(found.values[name]),
            view(found.reference[name]),
            terms_of,
            Point(name, shape, place),
            learned=not batched,
            masked=masked,
        )


def stream_before(stack: Stack, layer: int, part: Part) -> str:
    """The name of the stream before a sub-layer."""
    number = PARTS[stack].index(part)
    if number:
        return f"{stack}_layers.{layer}.{PARTS[stack][number - 1]}.after"
    return f"{stack}_layers.{layer - 1}.feed_forward.after" if layer else f"{SIDES[stack]}.input"


def read_by(builder: StageBuilder, stack: Stack, layer: int, part: Part) -> np.ndarray:
    """The input of a sub-layer, [N, D]."""
    pre = builder.found.config.norm == "pre"
    return builder.found.values[f"{stack}_layers.{layer}.{part}.read" if pre else stream_before(stack, layer, part)][0]
