"""Arithmetic tasks: addition of three-digit numbers, and addition modulo a prime."""

from collections.abc import Iterable

import numpy as np

from transformer.errors import TaskError
from transformer.tasks.task import Task, Tokens

PLUS = "+"


def summands(task: Task, source: Tokens) -> tuple[Tokens, Tokens]:
    """Return the tokens before and after the plus sign.

    Raises:
        TaskError: the source does not have exactly one plus sign.
    """
    if source.count(PLUS) != 1:
        raise TaskError(f"an item of {task.title} needs exactly one plus sign, for example {task.example}")
    place = source.index(PLUS)
    return source[:place], source[place + 1 :]


class Addition(Task):
    """Addition of two numbers from 000 to 999; the sum has four digits.

    Args:
        reversed_digits: whether to write the sum's last digit first, so that each carry is known when needed (Lee et
            al. 2023, "Teaching Arithmetic to Small Transformers", section 3).
    """

    digits = 3
    symbols = (*"0123456789", PLUS)
    known = f"digits and {PLUS}"
    longest_source = 2 * digits + 1
    longest_target = digits + 1
    example = "047+385"

    def __init__(self, *, reversed_digits: bool) -> None:
        self.reversed_digits = reversed_digits
        self.name = "addition-reversed" if reversed_digits else "addition"
        self.title = "Addition, last digit first" if reversed_digits else "Addition"
        self.description = "Add two numbers" + (" and write the sum, last digit first." if reversed_digits else ".")

    def draw(self, rng: np.random.Generator) -> Tokens:
        first, second = rng.integers(10**self.digits, size=2).tolist()
        return tuple(f"{first:0{self.digits}}{PLUS}{second:0{self.digits}}")

    def answer(self, source: Tokens) -> Tokens:
        first, second = summands(self, source)
        digits = f"{int(''.join(first)) + int(''.join(second)):0{self.longest_target}}"
        return tuple(reversed(digits)) if self.reversed_digits else tuple(digits)

    def check(self, source: Tokens) -> None:
        if {len(side) for side in summands(self, source)} != {self.digits}:
            raise TaskError(f"both numbers must have {self.digits} digits: type an item such as {self.example}")


class ModularAddition(Task):
    """Addition modulo a prime, with one symbol per number (Power et al. 2022, "Grokking", section 3).

    The task has few items, and half of them are held out. A model can memorise the training half long before it learns
    to calculate.
    """

    name = "modular"
    title = "Modular addition"
    modulus = 59
    symbols = (*map(str, range(modulus)), PLUS)
    known = f"the numbers 0 to {modulus - 1} and {PLUS}"
    description = f"Add two numbers modulo {modulus}."
    example = "17+42"
    longest_source = 3
    longest_target = 1
    held_out = modulus**2 // 2

    def draw(self, rng: np.random.Generator) -> Tokens:
        first, second = rng.integers(self.modulus, size=2).tolist()
        return str(first), PLUS, str(second)

    def sources(self) -> Iterable[Tokens]:
        numbers = self.symbols[: self.modulus]
        return ((first, PLUS, second) for first in numbers for second in numbers)

    def answer(self, source: Tokens) -> Tokens:
        first, _, second = source
        return (str((int(first) + int(second)) % self.modulus),)

    def check(self, source: Tokens) -> None:
        if {len(side) for side in summands(self, source)} != {1}:
            raise TaskError(f"an item of {self.title} must be two numbers and a plus sign, for example {self.example}")

    def split(self, text: str) -> list[str]:
        return text.replace(PLUS, f" {PLUS} ").split()
