"""Matches the tokens of two sentences by their words."""

from __future__ import annotations

from difflib import SequenceMatcher

from transformer.analysis.words import word_groups
from transformer.values.pieces import Piece


def matched_positions(first: tuple[Piece, ...], second: tuple[Piece, ...], texts: tuple[str, str]) -> dict[int, int]:
    """Positions of the first sentence that have a partner, and the position of the partner in the second.

    Equal words are partners. Where the sentences differ, words are partners in their order if both have equally many
    there. The tokens of two words are partners if both words have equally many. Partners are mutual.

    Args:
        first, second: tokens of the sentences.
        texts: the sentences.
    """
    sides = first, second
    groups = [word_groups(pieces, text) for pieces, text in zip(sides, texts, strict=True)]
    words = [
        [tuple(pieces[at].id for at in group) for group in each] for pieces, each in zip(sides, groups, strict=True)
    ]
    if words[1] < words[0]:
        # difflib takes the first of equally long matches, and which one is first depends on the order of its arguments.
        return {one: other for other, one in matched_positions(second, first, (texts[1], texts[0])).items()}
    found: dict[int, int] = {}
    for operation, i, j, k, end in SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes():
        if operation in ("equal", "replace") and j - i == end - k:
            for one, other in zip(groups[0][i:j], groups[1][k:end], strict=True):
                found |= dict(zip(one, other, strict=True)) if len(one) == len(other) else {}
    return found
