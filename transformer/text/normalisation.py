"""Gives characters that look or mean the same one spelling, in training data and in typed text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

QUOTES = dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("’‘‚‛‹›′´", "'")
DASHES = dict.fromkeys("‐‑−", "-") | dict.fromkeys("‒—―", "–")
# These characters have no width and no meaning of their own: zero-width space, word joiner, byte order mark, soft
# hyphen. The zero-width joiner stays, because emoji are made with it.
INVISIBLE = dict.fromkeys("\u200b\u2060\ufeff\u00ad", "")
# sentencepiece writes a space as "▁", so a typed "▁" must not become a space.
SPACE_MARK = {"▁": "_"}
REPLACED = QUOTES | DASHES | INVISIBLE | SPACE_MARK


def valid(text: str) -> str:
    """Replace the two halves of a surrogate pair by their character, and any other half by U+FFFD.

    JSON can contain halves; a file or a page cannot. Every function that lets a model read a text calls this first.
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalise(text: str) -> str:
    """Normalise a text to the spelling that the model reads; see `normalise_with_spans`."""
    if text.isprintable() and REPLACED.keys().isdisjoint(text) and unicodedata.is_normalized("NFKC", text):
        # Only the spaces can change. Most training text is like this, so the fast way pays off.
        return " ".join(text.split())
    return normalise_with_spans(text)[0]


def normalise_with_spans(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Normalise a text to the spelling that the model reads, and find where each of its characters comes from.

    - Compatibility forms become plain ones, and marks join their letters (Unicode NFKC).
    - Typographic quotes and apostrophes become those of the keyboard, and dashes a hyphen or "–".
    - White space becomes one space, with none at the ends.
    - Control characters and invisible ones are removed.
    - Half of a surrogate pair becomes U+FFFD.

    Every other character stays the same.

    Args:
        text: as typed.

    Returns:
        The normalised text, and for each of its characters the span [start, end) of `text` that it stands for.
    """
    characters: list[str] = []
    spans: list[tuple[int, int]] = []
    for start, end in _clusters(text):
        for character in _spelling(text[start:end]):
            if character == " " and (not characters or characters[-1] == " "):
                continue
            characters.append(character)
            spans.append((start, end))
    if characters and characters[-1] == " ":
        characters.pop()
        spans.pop()
    return "".join(characters), spans


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the parts that must be normalised as a whole: each is a character with the marks after it."""
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or not _joins(text[position]):
            yield start, position
            start = position


# The cache helps because training reads the same few characters millions of times.
@lru_cache(maxsize=4096)
def _joins(character: str) -> bool:
    # The normalised form decides, because compatibility forms can also become marks.
    plain = unicodedata.normalize("NFKC", _cleaned(REPLACED.get(character, character)))[:1]
    # Vowels and final consonants of Hangul are letters that join the syllable before them.
    return not plain or unicodedata.category(plain) in ("Mn", "Mc") or "\u1160" <= plain <= "\u11ff"


def _spelling(cluster: str) -> str:
    replaced = "".join(_cleaned(REPLACED.get(character, character)) for character in cluster)
    plain = unicodedata.normalize("NFKC", replaced)
    return "".join(_cleaned(REPLACED.get(character, character)) for character in plain)


def _cleaned(character: str) -> str:
    """The character, or its replacement: a space, nothing, or U+FFFD."""
    if character.isspace():
        return " "
    category = unicodedata.category(character) if character else ""
    return {"Cc": "", "Cs": "\ufffd"}.get(category, character)
