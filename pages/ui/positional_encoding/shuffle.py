"""Shuffles the words of a text, and finds each token's original position."""

from dataclasses import dataclass

import numpy as np

from transformer.values.tokens import Token


@dataclass(frozen=True)
class Shuffle:
    """A text whose words have been shuffled.

    Attributes:
        text: the shuffled words, separated by spaces.
        order: for each word of the shuffled text, its index in the original text.
    """

    text: str
    order: tuple[int, ...]


def shuffle(text: str, seed: int) -> Shuffle | None:
    """Shuffle the words of a text into a different order; return None if all words are equal or there are none.

    Args:
        text: the text to shuffle.
        seed: the random seed.
    """
    words = text.split()
    if len(set(words)) < 2:
        return None
    random = np.random.default_rng(seed)
    order = np.arange(len(words))
    while [words[number] for number in order] == words:
        order = random.permutation(len(words))
    return Shuffle(" ".join(words[number] for number in order), tuple(map(int, order)))


def moved_tokens(
    before: tuple[Token, ...], after: tuple[Token, ...], groups: tuple[tuple[int, ...], ...], order: tuple[int, ...]
) -> list[int] | None:
    """Return the original position of each token in the shuffled text; None if shuffling changes the tokenization.

    Args:
        before, after: the tokens of the original text and of the shuffled text.
        groups: the token positions of each word in `before`; special tokens come last, each in its own group.
        order: the word order, as in `Shuffle`.
    """
    if len(order) > len(groups):
        return None
    moved = [*order, *range(len(order), len(groups))]
    places = [position for number in moved for position in groups[number]]
    same = len(after) == len(places) and all(
        before[place].id == token.id for place, token in zip(places, after, strict=True)
    )
    return places if same else None
