"""Finds the words that each word of a run looks at, and those that look at it, over all heads of all kinds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.analysis.heads.metrics import HeadMetrics
from transformer.analysis.heads.names import head_names
from transformer.analysis.words import Group, groups_of, has_word, merge_mask, merge_words
from transformer.values.pieces import Piece
from transformer.values.trace import Kind, Trace

# Heads with these names look at a position, regardless of the token there.
POSITIONAL = frozenset({"previous token", "same token", "next token"})


@dataclass(frozen=True)
class Words:
    """The words of one sentence of a run, without start and end symbols.

    Attributes:
        text: the text that the tokens' spans refer to.
        pieces: tokens of each word.
        rows: positions of the queries of the word: in the encoder its own positions, in the decoder the steps that
            wrote it.
        columns: positions of its keys; empty for a word that was written last and never read.
        spoken: whether it holds a letter or a digit.
    """

    text: str
    pieces: tuple[tuple[Piece, ...], ...]
    rows: tuple[Group, ...]
    columns: tuple[Group, ...]
    spoken: tuple[bool, ...]


@dataclass(frozen=True)
class WordLink:
    """A link of two words, in the head of a kind in which it stands out most.

    Attributes:
        kind: of attention.
        row, column: the word that looks and the word looked at, as numbers from 0 in their sentences.
        layer, head: counted from 0.
        weight: the attention there, from 0 to 1: the mean of the row's queries, summed over the column's keys.
        beyond: by how much the weight exceeds the head's usual weight.
    """

    kind: Kind
    row: int
    column: int
    layer: int
    head: int
    weight: float
    beyond: float


def source_words(trace: Trace) -> Words:
    """The words of the sentence that was read."""
    pieces, text = trace.source_pieces, trace.source_text
    groups = _spelled(pieces, text)
    return _words(pieces, text, groups, groups)


def target_words(trace: Trace) -> Words:
    """The words of the translation. Each word looks in the steps that wrote it, and is looked at after it was read."""
    pieces, text = trace.predicted_pieces, trace.target_text
    groups = _spelled(pieces, text)
    read = tuple(tuple(at + 1 for at in group if at + 1 < len(pieces)) for group in groups)
    return _words(pieces, text, groups, read)


def word_links(trace: Trace, metrics: Mapping[Kind, HeadMetrics]) -> tuple[WordLink, ...]:
    """The links between any two words of a run, the one that stands out most first.

    There is one link for each two words that may look at each other. It is in the head where its weight exceeds the
    head's usual weight most. A head's usual weight is its mean weight in the other rows, on the same word or at the
    same distance, whichever is larger. Ties are in the order of kinds, rows and columns.

    The links leave out start and end symbols, and words without a letter or a digit. They also leave out a word's own
    column and its neighbours' columns, links that do not stand out, and heads named after a position.

    Args:
        trace: of a run.
        metrics: of the heads of each kind to look through.
    """
    source, target = source_words(trace), target_words(trace)
    found: list[WordLink] = []
    for kind, measured in metrics.items():
        rows = source if kind == "encoder" else target
        columns = target if kind == "decoder" else source
        found += _links(trace, kind, rows, columns, head_names(measured))
    return tuple(sorted(found, key=lambda link: -link.beyond))


def by_word(links: Sequence[WordLink]) -> Mapping[tuple[bool, int], tuple[list[WordLink], list[WordLink]]]:
    """The links from each word and the links to it, in the order of the links.

    Returns:
        Two lists for each word. A key says whether the word is in the source, and its number in its sentence, from 0.
    """
    found: defaultdict[tuple[bool, int], tuple[list[WordLink], list[WordLink]]] = defaultdict(lambda: ([], []))
    for link in links:
        looks, _ = found[link.kind == "encoder", link.row]
        _, looked = found[link.kind != "decoder", link.column]
        looks.append(link)
        looked.append(link)
    return found


def across(trace: Trace) -> tuple[list[int], list[int]]:
    """The words of both sentences that have the most cross-attention with each other, as the mean of all heads.

    Returns:
        For each source word, the number of the translated word that looks at it most. For each translated word, the
        number of the source word that it looks at most. -1 if no word has a letter or a digit.
    """
    source, target = source_words(trace), target_words(trace)
    if not source.columns or not target.rows:
        return [-1] * len(source.columns), [-1] * len(target.rows)
    weights = merge_words(trace.cross.mean(axis=(0, 1)), target.rows, source.columns)
    both = np.outer(target.spoken, source.spoken)
    weights = np.where(both, weights, -1.0)
    of_source, of_target = (np.where(both.any(axis=axis), weights.argmax(axis=axis), -1).tolist() for axis in (0, 1))
    return of_source, of_target


def _links(
    trace: Trace, kind: Kind, rows: Words, columns: Words, names: Sequence[Sequence[Sequence[str]]]
) -> list[WordLink]:
    seen = [at for at, group in enumerate(columns.columns) if group]
    if not rows.rows or not seen:
        return []
    keys = [columns.columns[at] for at in seen]
    same = kind != "cross"
    weights = merge_words(trace.attention(kind), rows.rows, keys).astype(np.float64)
    mask = merge_mask(trace.mask(kind), rows.rows, keys)
    distance = np.array(seen)[None, :] - np.arange(len(rows.rows))[:, None]
    beyond = weights - _habit(weights, mask, distance, same=same)
    counts = mask & np.array(rows.spoken)[:, None] & np.array(columns.spoken)[seen][None, :]
    if same:
        counts &= np.abs(distance) > 1
    positional = np.array([[not POSITIONAL.isdisjoint(head) for head in layer] for layer in names])
    beyond[positional] = -np.inf
    layers, heads = positional.shape
    best = beyond.reshape(layers * heads, *mask.shape)
    which = best.argmax(axis=0)
    links = []
    for row, column in zip(*np.nonzero(counts & (best.max(axis=0) > 0)), strict=True):
        layer, head = divmod(int(which[row, column]), heads)
        links.append(
            WordLink(
                kind,
                int(row),
                seen[column],
                layer,
                head,
                float(weights[layer, head, row, column]),
                float(beyond[layer, head, row, column]),
            )
        )
    return links


def _habit(weights: np.ndarray, mask: np.ndarray, distance: np.ndarray, *, same: bool) -> np.ndarray:
    """The mean weight of each head in the other rows, on the same column or, within one sentence, the same distance.

    Args:
        weights: [..., R, C].
        mask: bool [R, C].
        distance: int [R, C], of the column from the row.
        same: whether rows and columns are one sentence; if so, other rows' own columns do not count.

    Returns:
        The larger mean, [..., R, C]; 0 where no other row may look.
    """
    seen = weights * mask
    on_word = mask & (distance != 0) if same else mask
    total = (weights * on_word).sum(axis=-2, keepdims=True) - weights * on_word
    habit = total / np.maximum(on_word.sum(axis=0) - on_word, 1)
    if same:
        step = (distance - distance.min()).ravel()
        count = np.bincount(step, weights=mask.ravel())[step].reshape(mask.shape)
        sums = [np.bincount(step, weights=each)[step] for each in seen.reshape(-1, mask.size)]
        others = np.reshape(sums, weights.shape) - seen
        habit = np.maximum(habit, others / np.maximum(count - 1, 1))
    return habit


def _spelled(pieces: Sequence[Piece], text: str) -> tuple[Group, ...]:
    return tuple(group for group in groups_of(pieces, text, words=True) if not pieces[group[0]].special)


def _words(pieces: Sequence[Piece], text: str, rows: tuple[Group, ...], columns: tuple[Group, ...]) -> Words:
    return Words(
        text,
        tuple(tuple(pieces[at] for at in group) for group in rows),
        rows,
        columns,
        tuple(has_word(group, pieces, text) for group in rows),
    )
