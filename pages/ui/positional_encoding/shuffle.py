"""Shuffles the words of a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.tokens import Token


@dataclass(frozen=True)
class Shuffle:
    """A text whose words are in another order.

    Attributes:
        text: the words, separated by spaces.
        order: for each word of the new text, its index in the old text.
    """

    text: str
    order: tuple[int, ...]


def shuffle(text: str, seed: int) -> Shuffle | None:
    """Shuffle the words of a text; return None if all orders give the same text.

    Args:
        text: the text to shuffle.
        seed: the random seed; the new order always differs from the original one.
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
    """Return the old position of each token of the shuffled text; None if its words are tokenized differently.

    Args:
        before, after: the tokens of the original and of the shuffled text.
        groups: the positions of the tokens of each word of `before`; special tokens come last, each in its own group.
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
