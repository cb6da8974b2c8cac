"""Tasks that rearrange letters: copy, reverse, sort, and a repeated pattern."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

from transformer.errors import TaskError
from transformer.tasks.task import Pieces, Task

LETTERS = tuple(string.ascii_lowercase[:16])
TIMES = 3


class Letters(Task):
    """Random letters to be put into another order.

    Args:
        order: the function that reorders them.
    """

    symbols = LETTERS
    known = f"the letters {LETTERS[0]} to {LETTERS[-1]}"
    # There are few shorter items, so training would miss those that are held out.
    shortest = 3
    longest_source = longest_target = 10
    example = "dacbh"

    def __init__(self, name: str, title: str, says: str, order: Callable[[Pieces], Pieces]) -> None:
        self.name, self.title, self.says = name, title, says
        self.order = order

    def draw(self, rng: np.random.Generator) -> Pieces:
        length = rng.integers(self.shortest, self.longest_source + 1)
        return tuple(self.symbols[index] for index in rng.integers(len(self.symbols), size=length).tolist())

    def answer(self, source: Pieces) -> Pieces:
        return self.order(source)

    def check(self, source: Pieces) -> None:
        if len(source) < self.shortest:
            raise TaskError(f"an item of {self.title} has at least {self.shortest} letters, not {len(source)}")


class RepeatedPattern(Letters):
    """A few different letters, to be written three times.

    From the second time on, the decoder can find the next letter after the same letter in its own output. That is the
    work of an induction head (Olsson et al. 2022, "In-context Learning and Induction Heads").
    """

    longest_source = 5
    longest_target = TIMES * longest_source
    example = "dacb"

    def __init__(self) -> None:
        super().__init__(
            "pattern", "Repeated pattern", f"Write the pattern {TIMES} times.", lambda source: source * TIMES
        )

    def draw(self, rng: np.random.Generator) -> Pieces:
        length = rng.integers(self.shortest, self.longest_source + 1)
        return tuple(self.symbols[index] for index in rng.permutation(len(self.symbols))[:length].tolist())

    def check(self, source: Pieces) -> None:
        super().check(source)
        if len(set(source)) < len(source):
            raise TaskError(f"a pattern must not repeat a letter: type one such as {self.example}")
