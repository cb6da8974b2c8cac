"""Merges tokens into words (Clark et al. 2019, "What Does BERT Look At?", section 4.1)."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from transformer.text.normalisation import normalise
from transformer.values.tokens import Token

Group = tuple[int, ...]
# Letters of scripts written without spaces: Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese.
WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31a0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
# East Asian punctuation marks. A word ends before and after each mark, although no space follows it.
WIDE_MARKS = re.compile("[\u3001-\u3003\u3008-\u303f\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")


@dataclass
class _Unit:
    """Tokens that must stay in one word: tokens that share a character, and the whitespace-only tokens before them.

    Attributes:
        positions: positions of the tokens, at least one.
        start, end: characters [start, end) of the text that the tokens cover, without surrounding whitespace.
        special: whether the unit is a special token.
    """

    positions: list[int]
    start: int
    end: int
    special: bool


# Cached, because a page groups the same sentence about a dozen times per script run.
@lru_cache(maxsize=256)
def word_groups(tokens: tuple[Token, ...], text: str) -> tuple[Group, ...]:
    """Group token positions into the words of the text.

    Words end at whitespace; the whitespace is part of the next word. Punctuation before or after a word is a separate
    word: "Yes." is two words, "didn't" is one. Each special token is a separate word. In scripts without spaces between
    words, every token is a word. If a text in such a script has digits, punctuation or letters of other scripts, these
    form words as usual. Tokens that share a character are in the same word.

    Args:
        tokens: tokens in text order.
        text: text that the tokens' character spans refer to.
    """
    groups: list[list[_Unit]] = []
    for unit in _units(tokens, text):
        if groups and not _begins_word(groups[-1][-1], unit, text):
            groups[-1].append(unit)
        else:
            groups.append([unit])
    return tuple(part for group in groups for part in _without_punctuation(group, text))


def groups_of(tokens: Sequence[Token], text: str, *, words: bool) -> tuple[Group, ...]:
    """Return the token positions of each word (see `word_groups`), or of each single token if `words` is False."""
    return word_groups(tokens, text) if words else tuple((position,) for position in range(len(tokens)))


def has_word(group: Group, tokens: Sequence[Token], text: str) -> bool:
    """Return whether any token in the group covers a letter or a digit."""
    spans = [tokens[position].span for position in group]
    return any(character.isalnum() for span in spans if span is not None for character in text[slice(*span)])


def is_word_border(before: str, after: str) -> bool:
    """Return whether a word ends between two adjacent characters of different tokens; neither may be whitespace.

    A word ends there if one of the characters belongs to a script without spaces or is an East Asian punctuation mark.
    No word ends before a combining mark.
    """
    if unicodedata.category(after).startswith("M"):
        return False
    return any(script.match(each) for script in (WITHOUT_SPACES, WIDE_MARKS) for each in (before, after))


def _units(tokens: Sequence[Token], text: str) -> list[_Unit]:
    units: list[_Unit] = []
    for position, token in enumerate(tokens):
        if token.special or token.span is None:
            units.append(_Unit([position], 0, 0, special=True))
            continue
        start, end = _visible_span(text, *token.span)
        last = units[-1] if units and not units[-1].special else None
        if last is not None and (last.start == last.end or start < last.end):
            last.positions.append(position)
            last.start = start if last.start == last.end else last.start
            last.end = max(last.end, end)
        else:
            units.append(_Unit([position], start, end, special=False))
    return units


def _visible_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Trim whitespace from the range [start, end); return [end, end) if the range contains only whitespace."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _begins_word(last: _Unit, unit: _Unit, text: str) -> bool:
    if last.special or unit.special or any(map(str.isspace, text[last.end : unit.start])):
        return True
    return last.start < last.end and unit.start < unit.end and is_word_border(text[last.end - 1], text[unit.start])


def _without_punctuation(group: Sequence[_Unit], text: str) -> Iterator[Group]:
    """Split off punctuation: yield each mark before the word, then the word, then each mark after it."""
    begin, marks = 0, [_is_punctuation(text[unit.start : unit.end]) for unit in group]
    for end in range(1, len(group)):
        if all(marks[:end]) or all(marks[end:]):
            yield tuple(position for unit in group[begin:end] for position in unit.positions)
            begin = end
    yield tuple(position for unit in group[begin:] for position in unit.positions)


def _is_punctuation(covered: str) -> bool:
    plain = normalise(covered)
    return bool(plain) and all(unicodedata.category(character).startswith("P") for character in plain)


def merge_words(weights: np.ndarray, rows: Sequence[Group], columns: Sequence[Group]) -> np.ndarray:
    """Merge attention between tokens into attention between words.

    Attention *to* a word is summed over its tokens; attention *from* a word is averaged over its tokens. Rows that
    summed to 1 still sum to 1.

    Args:
        weights: attention between tokens, [..., T, S].
        rows, columns: token positions of each word, in order.

    Returns:
        Attention between words, [..., row words, column words].
    """
    members = _membership(rows, weights.shape[-2])
    means = (members / members.sum(axis=1, keepdims=True)).astype(weights.dtype)
    return means @ weights @ _membership(columns, weights.shape[-1]).T.astype(weights.dtype)


def merge_mask(mask: np.ndarray, rows: Sequence[Group], columns: Sequence[Group]) -> np.ndarray:
    """Return whether any token of the row's word may attend to any token of the column's word, bool [rows, columns]."""
    return _membership(rows, mask.shape[0]) @ mask @ _membership(columns, mask.shape[1]).T > 0


def _membership(groups: Sequence[Group], count: int) -> np.ndarray:
    """Return an array, [groups, count], that is 1 where a position is in a group and 0 elsewhere."""
    members = np.zeros((len(groups), count))
    for index, group in enumerate(groups):
        members[index, list(group)] = 1
    return members
