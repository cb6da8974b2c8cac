"""Matches the tokens of two similar sentences word by word."""

from difflib import SequenceMatcher

from transformer.analysis.words import word_groups
from transformer.values.tokens import Token


def matched_positions(first: tuple[Token, ...], second: tuple[Token, ...], texts: tuple[str, str]) -> dict[int, int]:
    """Map token positions in the first sentence to the corresponding positions in the second.

    Identical words correspond. Where the sentences differ, words are paired in order if both differing parts have the
    same number of words. The tokens of paired words correspond if both words have the same number of tokens. Swapping
    the sentences gives the inverse mapping.

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
        # Among equally long matches, difflib's choice depends on the argument order. Sorting the arguments
        # makes the mapping symmetric.
        return {one: other for other, one in matched_positions(second, first, (texts[1], texts[0])).items()}
    matches: dict[int, int] = {}
    for operation, i, j, k, end in SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes():
        if operation in ("equal", "replace") and j - i == end - k:
            for one, other in zip(groups[0][i:j], groups[1][k:end], strict=True):
                matches |= dict(zip(one, other, strict=True)) if len(one) == len(other) else {}
    return matches
