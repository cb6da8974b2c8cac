"""Matches the tokens of two similar sentences word by word."""

from __future__ import annotations

from difflib import SequenceMatcher

from transformer.analysis.words import word_groups
from transformer.values.tokens import Token


def matched_positions(first: tuple[Token, ...], second: tuple[Token, ...], texts: tuple[str, str]) -> dict[int, int]:
    """Map positions in the first sentence to corresponding positions in the second.

    Equal words correspond. Where the sentences differ, words correspond in order if both sentences have the same number
    of words there. The tokens of two corresponding words correspond if both words have the same number of tokens. The
    mapping is symmetric.

    Args:
        first, second: tokens of the two sentences.
        texts: texts of the two sentences.
    """
    sides = first, second
    groups = [word_groups(tokens, text) for tokens, text in zip(sides, texts, strict=True)]
    words = [
        [tuple(tokens[at].id for at in group) for group in each] for tokens, each in zip(sides, groups, strict=True)
    ]
    if words[1] < words[0]:
        # If matches are equally long, difflib's choice depends on the argument order. A fixed order keeps the mapping
        # symmetric.
        return {one: other for other, one in matched_positions(second, first, (texts[1], texts[0])).items()}
    matches: dict[int, int] = {}
    for operation, i, j, k, end in SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes():
        if operation in ("equal", "replace") and j - i == end - k:
            for one, other in zip(groups[0][i:j], groups[1][k:end], strict=True):
                matches |= dict(zip(one, other, strict=True)) if len(one) == len(other) else {}
    return matches
