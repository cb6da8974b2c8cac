"""Stages of the backward pass: each is a gradient with its formula, and everything needed to check it."""

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
    """Locates a stage's values in a parameter or an intermediate result, so that a single value can be nudged.

    Attributes:
        name: name of the parameter or result.
        shape: shape of the parameter or result.
        place: function from a row and a column of the stage to the index in the parameter or result.
    """

    name: str
    shape: tuple[int, ...]
    place: Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class GradientStage(Stage):
    """A stage that shows one gradient; `array` is the gradient computed by hand.

    Attributes:
        values: the values with respect to which the gradient is taken, [R, C].
        reference: gradient computed by autograd, [R, C].
        terms_of: formula that splits each gradient value into a sum of terms; None if the gradient comes from a layer
            that is not shown.
        point: location of the values in a parameter or intermediate result.
        learned: whether the values are parameters.
        masked: whether each cell is masked, bool [R, C]; None if there is no mask.
        tokens: token ids of the rows; empty if rows are not vocabulary tokens.
    """

    values: np.ndarray
    reference: np.ndarray
    terms_of: Formula | None
    point: Point
    learned: bool = False
    masked: np.ndarray | None = None
    tokens: tuple[int, ...] = ()

    @property
    def matrix(self) -> np.ndarray:
        """The gradient as a matrix [R, C], without the batch dimension of size 1 that `array` may have."""
        return self.array[0] if self.letters.startswith("B") else self.array


@dataclass(frozen=True, eq=False)
class StageBuilder:
    """Makes stages from computed gradients.

    Attributes:
        found: all computed gradients.
        head: 0-based index of the head whose attention is shown.
    """

    found: SentenceGradients
    head: int

    @property
    def seen(self) -> str:
        """LaTeX symbol for a sub-layer's input."""
        return r"\hat{x}" if self.found.config.norm == "pre" else "x"

    @property
    def seen_name(self) -> str:
        """Symbol for a sub-layer's input in a table heading."""
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
        """Make the stage of an intermediate result.

        Args:
            key, stack, layer, formula, letters: as in `Stage`.
            title: name of the stage.
            name: name of the intermediate result.
            view: function that selects the part to show, [R, C].
            terms_of, masked: as in `GradientStage`.
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
        """Make the stage of a parameter; the arguments are as in `point`."""
        return self._stage(key, stack, layer, title, formula, letters, name, view, terms_of)

    def table(
        self, key: str, stack: Stack, title: str, formula: str, letters: str, name: str, terms_of: Formula
    ) -> GradientStage:
        """Make the stage of a parameter with one row per vocabulary token, showing only the rows in `found`."""
        found, tokens = self.found, self.found.rows[name]

        vocabulary = found.config.source_vocabulary if name.startswith("source") else found.config.target_vocabulary

        def place(row: int, column: int) -> tuple[int, ...]:
            return (tokens[row], column)[: found.values[name].ndim]

        return GradientStage(
            key,
            stack,
            None,
            title,
            formula,
            letters,
            found.gradients[name].reshape(len(tokens), -1),
            found.values[name].reshape(len(tokens), -1),
            found.reference[name].reshape(len(tokens), -1),
            terms_of,
            Point(name, (vocabulary, *found.values[name].shape[1:]), place),
            learned=True,
            tokens=tokens,
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
            # Applying the view to the numbers 0, 1, 2, ... gives the flat index of each value that the view shows.
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
    """Return the name of the residual stream before a sub-layer."""
    number = PARTS[stack].index(part)
    if number:
        return f"{stack}_layers.{layer}.{PARTS[stack][number - 1]}.after"
    return f"{stack}_layers.{layer - 1}.feed_forward.after" if layer else f"{SIDES[stack]}.input"


def read_by(builder: StageBuilder, stack: Stack, layer: int, part: Part) -> np.ndarray:
    """Return a sub-layer's input, [N, D]."""
    pre = builder.found.config.norm == "pre"
    return builder.found.values[f"{stack}_layers.{layer}.{part}.read" if pre else stream_before(stack, layer, part)][0]
