"""Pieces merged into words (Clark et al. 2019, "What Does BERT Look At?", section 4.1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

from transformer.text.tokenizer import SPACE_MARK, Piece

Group = tuple[int, ...]
# Thai, Lao, Burmese, Khmer, Japanese and Chinese letters.
WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def word_groups(pieces: Sequence[Piece]) -> tuple[Group, ...]:
    """Which positions form a word: a piece that begins with a space begins one; special pieces stand alone.

    So does punctuation before and after a word ("Yes" and "." are two, "didn't" is one). In scripts without spaces
    between words, every piece is a word.
    """
    groups: list[list[int]] = []
    for position, piece in enumerate(pieces):
        begins = piece.special or piece.text.startswith(SPACE_MARK)
        if WITHOUT_SPACES.match(piece.text) and position:
            # The mark that every text begins with is no word.
            begins = pieces[position - 1].text != SPACE_MARK
        if begins or not groups or pieces[groups[-1][-1]].special:
            groups.append([position])
        else:
            groups[-1].append(position)
    return tuple(part for group in groups for part in _without_punctuation(group, pieces))


def has_word(group: Group, pieces: Sequence[Piece]) -> bool:
    """Whether any piece of a group has a letter or a digit."""
    return any(
        character.isalnum() for position in group if not pieces[position].special for character in pieces[position].text
    )


def _without_punctuation(group: Sequence[int], pieces: Sequence[Piece]) -> Iterator[Group]:
    """The punctuation before a word, a piece each; the word; the punctuation after it."""
    begin, marks = 0, [_punctuation(pieces[at]) for at in group]
    for end in range(1, len(group)):
        # The mark of a space belongs to what comes after it.
        if (all(marks[:end]) or all(marks[end:])) and pieces[group[end - 1]].text != SPACE_MARK:
            yield tuple(group[begin:end])
            begin = end
    yield tuple(group[begin:])


def _punctuation(piece: Piece) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in piece.text.removeprefix(SPACE_MARK))


def merge_words(weights: np.ndarray, rows: Sequence[Group], columns: Sequence[Group]) -> np.ndarray:
    """Attention between words.

    Attention *to* a word is the sum over its pieces; attention *from* a word is the mean over its pieces. Rows that
    summed to 1 still do.

    Args:
        weights: [..., T, S].
        rows, columns: positions of each word, in order.

    Returns:
        [..., words of the rows, words of the columns].
    """
    members = _membership(rows, weights.shape[-2])
    means = (members / members.sum(axis=1, keepdims=True)).astype(weights.dtype)
    return means @ weights @ _membership(columns, weights.shape[-1]).T.astype(weights.dtype)


def merge_mask(mask: np.ndarray, rows: Sequence[Group], columns: Sequence[Group]) -> np.ndarray:
    """Between which words any piece may look at any piece; bool [words of the rows, words of the columns]."""
    return _membership(rows, mask.shape[0]) @ mask @ _membership(columns, mask.shape[1]).T > 0


def _membership(groups: Sequence[Group], count: int) -> np.ndarray:
    """[groups, count]: 1 where a position is in a group."""
    members = np.zeros((len(groups), count))
    for index, group in enumerate(groups):
        members[index, list(group)] = 1
    return members
