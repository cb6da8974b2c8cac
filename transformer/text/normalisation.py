"""Unicode normalisation of training data and typed text: maps equivalent characters to one form."""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

QUOTES = dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("’‘‚‛‹›′´", "'")
DASHES = dict.fromkeys("‐‑−", "-") | dict.fromkeys("‒—―", "–")
# Invisible characters without meaning: zero-width space, word joiner, byte order mark, soft hyphen. The zero-width
# joiner is kept, because it combines emoji.
INVISIBLE = dict.fromkeys("\u200b\u2060\ufeff\u00ad", "")
# sentencepiece writes a space as "▁", so it would mistake a typed "▁" for a space.
SPACE_MARK = {"▁": "_"}
REPLACEMENTS = QUOTES | DASHES | INVISIBLE | SPACE_MARK


def replace_surrogates(text: str) -> str:
    """Replace surrogate pairs with the characters that they encode, and unpaired surrogates with U+FFFD.

    JSON can contain surrogates, but UTF-8 cannot. Every function that runs a model on a text calls `replace_surrogates`
    first.
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def normalise(text: str) -> str:
    """Normalise a text for the tokenizer, as described in `normalise_with_spans`."""
    if text.isprintable() and REPLACEMENTS.keys().isdisjoint(text) and unicodedata.is_normalized("NFKC", text):
        # Fast path for most training text: only spaces can change.
        return " ".join(text.split())
    return normalise_with_spans(text)[0]


def normalise_with_spans(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Normalise a text for the tokenizer, and map each normalised character to its origin.

    - Unicode NFKC: compatibility characters become plain ones, and combining marks are composed with their letters.
    - Typographic quotes and apostrophes become ASCII; dashes become a hyphen or "–".
    - Runs of white space become one space; white space at both ends is removed.
    - Other control characters and the characters in `INVISIBLE` are removed.
    - Surrogates become U+FFFD, and "▁" becomes "_".

    All other characters are unchanged.

    Args:
        text: text as typed.

    Returns:
        The normalised text, and for each normalised character the span [start, end) of `text` that it came from.
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
    """Yield each span that is normalised as a unit: a character and the combining marks after it."""
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or not _is_joined(text[position]):
            yield start, position
            start = position


# Cached, because training reads the same few characters millions of times.
@lru_cache(maxsize=4096)
def _is_joined(character: str) -> bool:
    # Check the normalised form, because NFKC can turn compatibility characters into combining marks.
    plain = unicodedata.normalize("NFKC", _clean(REPLACEMENTS.get(character, character)))[:1]
    # Hangul vowels and final consonants are letters, but they combine with the preceding syllable.
    return not plain or unicodedata.category(plain) in ("Mn", "Mc") or "\u1160" <= plain <= "\u11ff"


def _spelling(cluster: str) -> str:
    replaced = "".join(_clean(REPLACEMENTS.get(character, character)) for character in cluster)
    plain = unicodedata.normalize("NFKC", replaced)
    return "".join(_clean(REPLACEMENTS.get(character, character)) for character in plain)


def _clean(character: str) -> str:
    """Replace white space with a space, other control characters with "", and surrogates with U+FFFD."""
    if character.isspace():
        return " "
    category = unicodedata.category(character) if character else ""
    return {"Cc": "", "Cs": "\ufffd"}.get(category, character)
