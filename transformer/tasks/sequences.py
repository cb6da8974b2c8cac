"""Tasks with letters: copy, reverse, sort, and repeat a pattern."""

import string
from collections.abc import Callable

import numpy as np

from transformer.errors import TaskError
from transformer.tasks.task import Task, Tokens

LETTERS = tuple(string.ascii_lowercase[:16])
REPETITIONS = 3


class Letters(Task):
    """The task of writing an item's random letters in their original order or in another order.

    Args:
        name, title, description: as in `Task`.
        order: function that maps an item's letters to the letters to write.
    """

    symbols = LETTERS
    known = f"the letters {LETTERS[0]} to {LETTERS[-1]}"
    # There are so few items of one or two letters that many, including every one-letter item, would be held out.
    shortest = 3
    longest_source = longest_target = 10
    example = "dacbh"

    def __init__(self, name: str, title: str, description: str, order: Callable[[Tokens], Tokens]) -> None:
        self.name, self.title, self.description = name, title, description
        self.order = order

    def draw(self, rng: np.random.Generator) -> Tokens:
        length = rng.integers(self.shortest, self.longest_source + 1)
        return tuple(self.symbols[index] for index in rng.integers(len(self.symbols), size=length).tolist())

    def answer(self, source: Tokens) -> Tokens:
        return self.order(source)

    def check(self, source: Tokens) -> None:
        if len(source) < self.shortest:
            raise TaskError(f"an item of {self.title} must have at least {self.shortest} letters, not {len(source)}")


class RepeatedPattern(Letters):
    """The task of writing a short pattern of distinct letters three times.

    In the second and third copies of the pattern, the decoder can find the next letter in its own output. The
    next letter is right after the previous occurrence of the current letter. Induction heads look at that position
    (Olsson et al. 2022, "In-context Learning and Induction Heads").
    """

    longest_source = 5
    longest_target = REPETITIONS * longest_source
    example = "dacb"

    def __init__(self) -> None:
        super().__init__(
            "pattern",
            "Repeated pattern",
            f"Write the pattern {REPETITIONS} times.",
            lambda source: source * REPETITIONS,
        )

    def draw(self, rng: np.random.Generator) -> Tokens:
        length = rng.integers(self.shortest, self.longest_source + 1)
        return tuple(self.symbols[index] for index in rng.permutation(len(self.symbols))[:length].tolist())

    def check(self, source: Tokens) -> None:
        super().check(source)
        if len(set(source)) < len(source):
            raise TaskError(f"a pattern must not repeat a letter: type a pattern such as {self.example}")
