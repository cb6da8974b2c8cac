"""The interface of a task: items that a seed draws, and the one right answer to each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from transformer.errors import TaskError
from transformer.text.vocabulary import OWN

# The tokens of an item as they are written, without the end symbol.
Pieces = tuple[str, ...]
# The id of a task's first symbol; the ids before it are padding, unknown, start and end.
FIRST_ID = 1 + max(OWN.pad, OWN.unknown, OWN.start, OWN.end)


@dataclass(frozen=True)
class Item:
    """A question and its answer.

    Attributes:
        source: text that the encoder reads.
        target: text that the decoder should write.
    """

    source: Pieces
    target: Pieces


class Task(ABC):
    """A family of items.

    Attributes:
        name: name on the command line and in files.
        title: name on the screen.
        says: one sentence with the instruction.
        example: an item as a user types it.
        known: the symbols of an item, in words.
        symbols: every token that a source or a target may have.
        longest_source, longest_target: maximum number of tokens, without the end symbol.
        held_out: number of items that no training step sees.
        modulus: p, if the first p symbols are the numbers modulo p; 0 if there are no such numbers.
    """

    name: str
    title: str
    says: str
    example: str
    known: str
    symbols: Pieces
    longest_source: int
    longest_target: int
    held_out: int = 256
    modulus: int = 0

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Pieces:
        """A random source."""

    def sources(self) -> Iterable[Pieces] | None:
        """Every possible source, in a fixed order; None if there are too many to list."""
        return None

    @abstractmethod
    def answer(self, source: Pieces) -> Pieces:
        """The right target of a source."""

    @abstractmethod
    def check(self, source: Pieces) -> None:
        """Reject a source of known symbols that is not an item.

        Raises:
            TaskError: the message says in one sentence what is wrong and what an item looks like.
        """

    def item(self, source: Pieces) -> Item:
        """A source with its answer."""
        return Item(source, self.answer(source))

    def split(self, text: str) -> list[str]:
        """The tokens of a typed text: one per character, without spaces."""
        return [character for character in text if not character.isspace()]

    def write(self, pieces: Pieces) -> str:
        """Tokens as a user types them."""
        return "".join(pieces)

    def parse(self, text: str) -> Item:
        """The item that a user typed.

        Raises:
            TaskError: it is empty, too long, or contains a symbol that the task lacks.
        """
        # The length is checked before the text is split, because it may be long.
        if len(text) > 100:
            raise TaskError(
                f"an item of {self.title} has at most {self.longest_source} symbols, for example "
                f"{self.example}; this text has {len(text)} characters"
            )
        source = tuple(self.split(text))
        if not source:
            raise TaskError(f"there is nothing to answer: type an item, for example {self.example}")
        for piece in source:
            if piece not in self.symbols:
                raise TaskError(
                    f"{self.title} does not know {piece!r}, only {self.known}: type an item such as {self.example}"
                )
        if len(source) > self.longest_source:
            raise TaskError(f"an item of {self.title} has at most {self.longest_source} symbols, not {len(source)}")
        self.check(source)
        return self.item(source)


def vocabulary_size(task: Task) -> int:
    """Number of ids V, padding, start and end included."""
    return FIRST_ID + len(task.symbols)
