"""Stages of the backward pass. Each stage shows one gradient, its formula, and the data for checking the gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from transformer.backpropagation.notes import Stage, length_letter
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
        place: function that maps a row and a column of the stage to the index in the parameter or result.
    """

    name: str
    shape: tuple[int, ...]
    place: Callable[[int, int], tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class GradientStage(Stage):
    """A stage that shows one gradient; `array` is the gradient from the hand-written backward pass.

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
        """The gradient as a matrix, [R, C], without the batch dimension of size 1 that `array` may have."""
        return self.array[0] if self.letters.startswith("B") else self.array


@dataclass(frozen=True, eq=False)
class StageBuilder:
    """Makes stages from computed gradients.

    Attributes:
        gradients: all computed gradients.
        head: 0-based head to show.
        key: first part of the stages' keys.
        stack, layer: as in `Stage`.
    """

    gradients: SentenceGradients
    head: int
    key: str = "generator"
    stack: Stack = "decoder"
    layer: int | None = None

    def at(self, key: str, stack: Stack, layer: int | None = None) -> StageBuilder:
        """Return a builder for another part of the model."""
        return replace(self, key=key, stack=stack, layer=layer)

    @property
    def rows(self) -> str:
        return length_letter(self.stack)

    @property
    def input_symbol(self) -> str:
        """LaTeX symbol for a sub-layer's input."""
        return r"\hat{x}" if self.gradients.config.norm == "pre" else "x"

    @property
    def input_name(self) -> str:
        """Symbol for a sub-layer's input in a table heading."""
        return "x̂" if self.gradients.config.norm == "pre" else "x"

    def stage(
        self,
        key: str,
        title: str,
        formula: str,
        letters: str,
        name: str,
        terms_of: Formula | None,
        view: View | None = None,
        masked: np.ndarray | None = None,
    ) -> GradientStage:
        """Make a stage for a parameter or an intermediate result.

        Args:
            key: last part of the stage's key.
            title: name of the stage.
            formula, letters: as in `Stage`. For a parameter, `letters` does not begin with the batch dimension "B".
            name: name of the intermediate result or parameter.
            terms_of, masked: as in `GradientStage`.
            view: function that selects the part to show, [R, C]. If None, an intermediate result is shown for the
                batch's only entry, and a parameter is shown whole, with one row per input.
        """
        computed, learned = self.gradients, not letters.startswith("B")
        view = view or (by_input if learned else single_entry)
        shape, gradient = computed.values[name].shape, view(computed.gradients[name])

        def place(row: int, column: int) -> tuple[int, ...]:
            # Applied to the numbers 0, 1, 2, ..., `view` returns the flat indices of the values that it selects.
            number = view(np.arange(computed.values[name].size).reshape(shape))[row, column]
            return tuple(int(each) for each in np.unravel_index(number, shape))

        return GradientStage(
            f"{self.key}.{key}",
            self.stack,
            self.layer,
            title,
            formula,
            letters,
            gradient if learned else gradient[None],
            view(computed.values[name]),
            view(computed.reference[name]),
            terms_of,
            Point(name, shape, place),
            learned=learned,
            masked=masked,
        )

    def table(self, key: str, title: str, formula: str, letters: str, name: str, terms_of: Formula) -> GradientStage:
        """Make a stage for a parameter with one row per vocabulary token. Show only the rows in `gradients.rows`."""
        computed, tokens = self.gradients, self.gradients.rows[name]

        vocabulary = (
            computed.config.source_vocabulary if name.startswith("source") else computed.config.target_vocabulary
        )

        def place(row: int, column: int) -> tuple[int, ...]:
            return (tokens[row], column)[: computed.values[name].ndim]

        return GradientStage(
            f"{self.key}.{key}",
            self.stack,
            None,
            title,
            formula,
            letters,
            computed.gradients[name].reshape(len(tokens), -1),
            computed.values[name].reshape(len(tokens), -1),
            computed.reference[name].reshape(len(tokens), -1),
            terms_of,
            Point(name, (vocabulary, *computed.values[name].shape[1:]), place),
            learned=True,
            tokens=tokens,
        )

    def sublayer_input(self, part: Part) -> np.ndarray:
        """Return the input of one of the layer's sub-layers, [N, D]."""
        before, pre = stream_before(self.stack, self.layer or 0, part), self.gradients.config.norm == "pre"
        return self.gradients.values[f"{self.stack}_layers.{self.layer}.{part}.read" if pre else before][0]


def single_entry(array: np.ndarray) -> np.ndarray:
    """Return the only entry of a batch of one."""
    return array[0]


def by_input(parameter: np.ndarray) -> np.ndarray:
    """Transpose a linear layer's parameter to one row per input: weights [O, I] to [I, O], a bias [O] to [1, O]."""
    return np.atleast_2d(parameter.T)


def stream_before(stack: Stack, layer: int, part: Part) -> str:
    """Return the name of the residual stream before a sub-layer."""
    number = PARTS[stack].index(part)
    if number:
        return f"{stack}_layers.{layer}.{PARTS[stack][number - 1]}.after"
    return f"{stack}_layers.{layer - 1}.feed_forward.after" if layer else f"{SIDES[stack]}.input"
