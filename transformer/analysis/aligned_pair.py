"""Aligns a sentence with its translation by choosing a source word or token for each target word or token."""

from __future__ import annotations

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

# "words" uses `word_groups`. "spaces" splits at whitespace, as other alignment programs do.
Unit = Literal["words", "spaces", "tokens"]
UNITS: tuple[Unit, ...] = ("words", "spaces", "tokens")


@dataclass(frozen=True)
class AlignedPair:
    """A sentence and its translation, with the source word of each target word.

    Attributes:
        source, target: words or tokens of each sentence, without special tokens.
        links: (source index, target index) pairs, 0-based, in target order. A word without tokens has no link.
        weights: attention weight of each link, 0 to 1.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]


def align(trace: Trace, aligner: Aligner, unit: Unit, codes: Sequence[str] = ()) -> AlignedPair:
    """Align a translation by the mean attention of the aligner's heads, at the aligner's step.

    As in `merge_words`, a target word is the mean of its tokens' rows, and a source word is the sum of its tokens'
    columns.

    Args:
        trace: trace of the translation.
        aligner: cross-attention heads to use, and the step at which to read them.
        unit: unit to align.
        codes: language codes, as in `Vocabulary.codes`; a code at the beginning of the source is not a word.
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
        # In an incomplete translation, the decoder never reads the last token, so no step reads that token.
        steps = [step for at in group if (step := at + (aligner.step == "read")) < len(rows)] or list(group)
        if steps and not empty.all():
            row = columns[steps].mean(axis=0)
            column = int(hard_alignment(row, empty))
            links.append((column, number))
            weights.append(float(row[column]))
    sources, targets = (tuple(word for word, _ in side) for side in (source, target))
    return AlignedPair(sources, targets, tuple(links), tuple(weights))


def _units(tokens: Sequence[Token], text: str, unit: Unit, begin: int = 0) -> list[tuple[str, Group]]:
    """Return the words or tokens of a text from character `begin` on, each with the positions of its tokens."""
    spoken = [(index, token.span) for index, token in enumerate(tokens) if not token.special and token.span is not None]
    if unit == "tokens":
        return [(tokens[at].text, (at,)) for at, _ in spoken]
    if unit == "spaces":
        words = list(re.compile(r"\S+").finditer(text, begin))
        ends = [word.end() for word in words]
        # A token that is only a space belongs to the next word.
        owners = [(bisect_right(ends, start), at) for at, (start, _) in spoken]
        return [(word[0], tuple(at for owner, at in owners if owner == number)) for number, word in enumerate(words)]
    at_place = dict(spoken)
    groups = [group for group in groups_of(tokens, text, words=True) if at_place.keys() >= set(group)]
    return [
        (text[min(at_place[at][0] for at in group) : max(at_place[at][1] for at in group)].strip(), group)
        for group in groups
    ]
