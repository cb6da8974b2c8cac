"""Aligns a sentence with its translation: links each target word (or token) to one source word (or token)."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.aligner import Aligner
from transformer.analysis.alignment import hard_alignment
from transformer.analysis.words import Group, groups_of
from transformer.text.vocabulary import split_code
from transformer.values.tokens import Token
from transformer.values.trace import Trace

# "words" splits by `word_groups`; "spaces" splits at whitespace only, like most alignment tools.
Unit = Literal["words", "spaces", "tokens"]
UNITS: tuple[Unit, ...] = ("words", "spaces", "tokens")


@dataclass(frozen=True)
class AlignedPair:
    """A sentence and its translation, with links from target words to source words.

    Attributes:
        source, target: words or tokens of each sentence, without special tokens.
        links: (source index, target index) pairs, 0-based, in target order. A target word without tokens has no link.
        weights: attention weight of each link, 0 to 1.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]


def align(trace: Trace, aligner: Aligner, unit: Unit, codes: Sequence[str] = ()) -> AlignedPair:
    """Link each target word to the source word that gets the most attention, averaged over the aligner's heads.

    As in `merge_words`, attention is averaged over the tokens of a target word and summed over the tokens of a source
    word.

    Args:
        trace: trace of the translation.
        aligner: cross-attention heads to use, and the decoding step at which they align a token.
        unit: how to split both sentences.
        codes: language codes, as in `Vocabulary.codes`; a code at the start of the source text is not counted as a
            word.
    """
    code, _ = split_code(trace.source_text, codes)
    begin = trace.source_text.find(code) + len(code) if code else 0
    source = _units(trace.source_tokens, trace.source_text, unit, begin)
    target = _units(trace.predicted_tokens, trace.target_text, unit)
    rows = trace.cross[aligner.layer, list(aligner.heads)].mean(axis=0)
    columns = np.stack([rows[:, list(group)].sum(axis=1) for _, group in source], axis=1) if source else rows[:, :0]
    empty = np.array([not group for _, group in source], dtype=bool)
    links, weights = [], []
    for number, (_, group) in enumerate(target):
        # If decoding stopped early, the decoder never read the last token. Fall back to the step that predicted it.
        steps = [step for at in group if (step := at + (aligner.step == "read")) < len(rows)] or list(group)
        if steps and not empty.all():
            row = columns[steps].mean(axis=0)
            column = int(hard_alignment(row, empty))
            links.append((column, number))
            weights.append(float(row[column]))
    sources, targets = (tuple(word for word, _ in side) for side in (source, target))
    return AlignedPair(sources, targets, tuple(links), tuple(weights))


def _units(tokens: Sequence[Token], text: str, unit: Unit, begin: int = 0) -> list[tuple[str, Group]]:
    """Split text[begin:] into words or tokens, each with the positions of its tokens."""
    spoken = [(index, token.span) for index, token in enumerate(tokens) if not token.special and token.span is not None]
    if unit == "tokens":
        return [(tokens[at].text, (at,)) for at, _ in spoken]
    if unit == "spaces":
        words = list(re.compile(r"\S+").finditer(text, begin))
        ends = [word.end() for word in words]
        # A token that contains only a space belongs to the word after it.
        owners = [(bisect_right(ends, start), at) for at, (start, _) in spoken]
        return [(word[0], tuple(at for owner, at in owners if owner == number)) for number, word in enumerate(words)]
    at_place = dict(spoken)
    groups = [group for group in groups_of(tokens, text, words=True) if at_place.keys() >= set(group)]
    return [
        (text[min(at_place[at][0] for at in group) : max(at_place[at][1] for at in group)].strip(), group)
        for group in groups
    ]
