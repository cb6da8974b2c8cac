"""Interface of tasks: a task samples random questions, and gives the one correct answer to each."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from transformer.errors import TaskError
from transformer.text.vocabulary import OWN_SYMBOLS

# Tokens on one side of an item, without the end symbol.
Tokens = tuple[str, ...]
# Id of a task's first symbol. The lower ids belong to the padding, unknown, start and end symbols.
FIRST_ID = 1 + max(OWN_SYMBOLS.pad, OWN_SYMBOLS.unknown, OWN_SYMBOLS.start, OWN_SYMBOLS.end)


@dataclass(frozen=True)
class Item:
    """A question and its correct answer.

    Attributes:
        source: encoder input tokens.
        target: tokens that the decoder should write.
    """

    source: Tokens
    target: Tokens


class Task(ABC):
    """A task: a set of questions, and a rule that gives the correct answer to each question.

    Attributes:
        name: name on the command line and in files.
        title: name on the screen.
        description: instruction in one sentence.
        example: example of an item, as a user types it.
        known: description of the allowed symbols.
        symbols: all tokens that may occur in a source or a target.
        longest_source, longest_target: maximum number of tokens, without the end symbol.
        held_out: number of items that are never used for training.
        modulus: p if the first p symbols are the numbers modulo p; 0 if there are no such numbers.
    """

    name: str
    title: str
    description: str
    example: str
    known: str
    symbols: Tokens
    longest_source: int
    longest_target: int
    held_out: int = 256
    modulus: int = 0

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Tokens:
        """Sample a random source."""

    def sources(self) -> Iterable[Tokens] | None:
        """Return every possible source in a fixed order; None if there are too many to list."""
        return None

    @abstractmethod
    def answer(self, source: Tokens) -> Tokens:
        """Return the correct target for a source."""

    @abstractmethod
    def check(self, source: Tokens) -> None:
        """Check that a source is a valid question for the task, assuming that all symbols in the source are allowed.

        Raises:
            TaskError: the source is invalid; the message says why.
        """

    def item(self, source: Tokens) -> Item:
        """Return the item that consists of a source and the correct answer."""
        return Item(source, self.answer(source))

    def split(self, text: str) -> list[str]:
        """Split typed text into one token per character, ignoring white space."""
        return [character for character in text if not character.isspace()]

    def write(self, tokens: Tokens) -> str:
        """Join tokens into the text that a user would type."""
        return "".join(tokens)

    def parse(self, text: str) -> Item:
        """Parse typed text as a question, and return the item.

        Raises:
            TaskError: the text is empty, too long or not a valid question, or contains a symbol that is not allowed.
        """
        # Check the length before splitting, because the text may be very long.
        if len(text) > 100:
            raise TaskError(
                f"the text has {len(text)} characters, but an item of {self.title} has at most {self.longest_source} "
                f"symbols: type an item such as {self.example}"
            )
        source = tuple(self.split(text))
        if not source:
            raise TaskError(f"there is nothing to answer: type an item, for example {self.example}")
        for token in source:
            if token not in self.symbols:
                raise TaskError(
                    f"{self.title} accepts only {self.known}, not {token!r}: type an item such as {self.example}"
                )
        if len(source) > self.longest_source:
            raise TaskError(
                f"an item of {self.title} must have at most {self.longest_source} symbols, not {len(source)}"
            )
        self.check(source)
        return self.item(source)


def vocabulary_size(task: Task) -> int:
    """Return the number of the task's symbols, plus the padding, unknown, start and end symbols."""
    return FIRST_ID + len(task.symbols)
