"""Aligns the words or tokens of a sentence with those of its translation, one source word for each target word."""

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
from transformer.values.pieces import Piece
from transformer.values.trace import Trace

# "words" uses `word_groups`; "spaces" splits at white space, as other alignment programs do.
Unit = Literal["words", "spaces", "tokens"]
UNITS: tuple[Unit, ...] = ("words", "spaces", "tokens")


@dataclass(frozen=True)
class AlignedPair:
    """A sentence, its translation, and the source word of each target word.

    Attributes:
        source, target: the words or tokens of each side, without special tokens.
        links: pairs of source and target index from 0, in target order. A word without a token has no link.
        weights: the attention weight of each link, from 0 to 1.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]


def align(trace: Trace, aligner: Aligner, unit: Unit, codes: Sequence[str] = ()) -> AlignedPair:
    """Align a translation by the mean attention of the aligner's heads, at the aligner's step.

    As in `merge_words`, the rows of a target word's tokens are averaged and the columns of a source word's are summed.

    Args:
        codes: as in `Vocabulary.codes`; a code at the beginning of the source is not a word.
    """
    code, _ = split_code(trace.source_text, codes)
    begin = trace.source_text.find(code) + len(code) if code else 0
    source = _units(trace.source_pieces, trace.source_text, unit, begin)
    target = _units(trace.predicted_pieces, trace.target_text, unit)
    rows = trace.cross[aligner.layer, list(aligner.heads)].mean(axis=0)
    columns = np.stack([rows[:, list(group)].sum(axis=1) for _, group in source], axis=1) if source else rows[:, :0]
    empty = np.array([not group for _, group in source], dtype=bool)
    links, weights = [], []
    for number, (_, group) in enumerate(target):
        # The decoder never reads the last token of an incomplete translation.
        steps = [step for at in group if (step := at + (aligner.step == "read")) < len(rows)] or list(group)
        if steps and not empty.all():
            row = columns[steps].mean(axis=0)
            found = int(hard_alignment(row, empty))
            links.append((found, number))
            weights.append(float(row[found]))
    sources, targets = (tuple(word for word, _ in side) for side in (source, target))
    return AlignedPair(sources, targets, tuple(links), tuple(weights))


def _units(pieces: Sequence[Piece], text: str, unit: Unit, begin: int = 0) -> list[tuple[str, Group]]:
    """Return the words or tokens of a text from character `begin` on, each with the positions of its tokens."""
    spoken = [(at, piece.span) for at, piece in enumerate(pieces) if not piece.special and piece.span is not None]
    if unit == "tokens":
        return [(pieces[at].text, (at,)) for at, _ in spoken]
    if unit == "spaces":
        words = list(re.compile(r"\S+").finditer(text, begin))
        ends = [word.end() for word in words]
        # A lone space mark belongs to the word after it.
        owners = [(bisect_right(ends, start), at) for at, (start, _) in spoken]
        return [(word[0], tuple(at for owner, at in owners if owner == number)) for number, word in enumerate(words)]
    at_place = dict(spoken)
    groups = [group for group in groups_of(pieces, text, words=True) if at_place.keys() >= set(group)]
    return [
        (text[min(at_place[at][0] for at in group) : max(at_place[at][1] for at in group)].strip(), group)
        for group in groups
    ]
