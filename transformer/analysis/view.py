"""One kind of attention as a reader asked to see it: pieces or words, with or without special pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.analysis.words import Group, merge_mask, merge_words, word_groups
from transformer.tokenizer import Piece
from transformer.trace import Kind, Trace


@dataclass(frozen=True, eq=False)
class View:
    """Attention of all layers and heads, ready to be drawn.

    Attributes:
        kind: "encoder", "decoder" or "cross".
        weights: [L, H, R, C]; rows are queries and sum to 1, columns are keys.
        mask: bool [R, C], True = may look; the weight is 0 elsewhere.
        rows: pieces of each row, R groups.
        columns: pieces of each column, C groups.
        predicted: what the pieces of each row predict, R groups; None for the encoder.
        row_text, column_text: the texts that the spans of these pieces refer to.
        words: whether pieces are merged into words.
        hidden: largest share of a row, over all heads, that lay on columns now hidden; the rest was scaled up to 1.
            None if nothing is hidden.
    """

    kind: Kind
    weights: np.ndarray
    mask: np.ndarray
    rows: tuple[tuple[Piece, ...], ...]
    columns: tuple[tuple[Piece, ...], ...]
    predicted: tuple[tuple[Piece, ...], ...] | None
    row_text: str
    column_text: str
    words: bool
    hidden: np.ndarray | None

    @property
    def layers(self) -> int:
        return self.weights.shape[0]

    @property
    def heads(self) -> int:
        return self.weights.shape[1]


def view_of(trace: Trace, kind: Kind, *, words: bool = False, special: bool = True) -> View:
    """What a reader asked to see of a trace.

    Args:
        trace: of a run.
        kind: of attention.
        words: merge pieces into words.
        special: show start and end symbols. Without them their columns go, and in self-attention their rows too;
            what is left of each row is scaled to sum to 1.
    """
    row_pieces, column_pieces = trace.queries(kind), trace.keys(kind)
    rows = word_groups(row_pieces) if words else tuple((i,) for i in range(len(row_pieces)))
    columns = word_groups(column_pieces) if words else tuple((j,) for j in range(len(column_pieces)))
    weights, mask = trace.attention(kind), trace.mask(kind)
    if words:
        weights, mask = merge_words(weights, rows, columns), merge_mask(mask, rows, columns)
    hidden = None
    if not special:
        kept = [j for j, group in enumerate(columns) if not column_pieces[group[0]].special]
        if kept:
            weights, hidden = without_columns(weights, kept)
            mask = mask[:, kept]
            columns = tuple(columns[j] for j in kept)
            seeing = [
                i for i, group in enumerate(rows)
                if mask[i].any() and (kind == "cross" or not row_pieces[group[0]].special)
            ]
            weights, hidden, mask = weights[..., seeing, :], hidden[..., seeing], mask[seeing]
            rows = tuple(rows[i] for i in seeing)
    return View(
        kind=kind,
        weights=weights,
        mask=mask,
        rows=_pieces(rows, row_pieces),
        columns=_pieces(columns, column_pieces),
        predicted=None if kind == "encoder" else _pieces(rows, trace.predicted_pieces),
        row_text=trace.source_text if kind == "encoder" else trace.target_text,
        column_text=trace.target_text if kind == "decoder" else trace.source_text,
        words=words,
        hidden=hidden,
    )


def without_columns(weights: np.ndarray, kept: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Keep some columns and scale each row back to a sum of 1.

    Args:
        weights: [..., R, C].
        kept: columns to keep.

    Returns:
        The weights [..., R, len(kept)], and the share of each row that was hidden, [..., R]. A row of which nothing
        is left stays 0.
    """
    left = weights[..., kept]
    total = left.sum(axis=-1, keepdims=True)
    scaled = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
    return scaled, 1.0 - np.minimum(total[..., 0], 1.0)


def _pieces(groups: tuple[Group, ...], pieces: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], ...]:
    return tuple(tuple(pieces[position] for position in group) for group in groups)
