"""Describes the pattern of one head on a sentence in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.pieces import Piece


@dataclass(frozen=True)
class Entry:
    """One entry of an attention map: the weight of column `column` in row `row`."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True)
class Pattern:
    """The pattern of one head.

    Attributes:
        previous, same, following: mean share of a row's attention on the position before it, on its own, and after it;
            only for self-attention, else 0. Rows without such a position are left out of the mean.
        special: mean share on start and end symbols.
        column: the position that is not special and has the largest mean share of all rows; None without one.
        column_share: that share.
        peak: mean largest weight of a row, without start and end symbols; only of the rows that may look at another
            token, 0 if none may.
        rest: mean share of the same rows on start and end symbols.
        moves: whether the largest weights are in several columns.
        entropy: mean entropy of the rows, nats (Shannon 1948); `limit` is that of even attention.
        strongest: the largest weight on a position that is not special. In self-attention, both positions are not
            special and differ. None without such a weight.
    """

    previous: float
    same: float
    following: float
    special: float
    column: int | None
    column_share: float
    peak: float
    rest: float
    moves: bool
    entropy: float
    limit: float
    strongest: Entry | None


def row_entropy(weights: np.ndarray) -> np.ndarray:
    """Entropy of each row, nats: [..., R, C] to [..., R]. A row with a single weight of 1 has 0."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return 0.0 - (weights * logs).sum(axis=-1)


def offset_share(weights: np.ndarray, mask: np.ndarray, offset: int) -> float:
    """Mean weight at column = row + offset, over the rows that may look there; 0 if none may."""
    places = [
        (row, row + offset)
        for row in range(weights.shape[0])
        if 0 <= row + offset < weights.shape[1] and mask[row, row + offset]
    ]
    return float(np.mean([weights[place] for place in places])) if places else 0.0


def pattern(
    weights: np.ndarray,
    mask: np.ndarray,
    rows: tuple[tuple[Piece, ...], ...],
    columns: tuple[tuple[Piece, ...], ...],
    *,
    same_text: bool,
) -> Pattern:
    """The pattern of one head's map.

    Args:
        weights: [R, C], rows sum to 1.
        mask: bool [R, C], True = may look.
        rows, columns: tokens of each row and column.
        same_text: rows and columns are the same text (self-attention), so "previous" and "same" mean something.
    """
    special_columns = np.array([group[0].special for group in columns])
    special_rows = np.array([group[0].special for group in rows])
    linkable = mask & ~special_columns[None, :]
    if same_text:
        # In cross-attention the start symbol's row is the step that writes the first word.
        linkable &= ~special_rows[:, None] & ~np.eye(len(rows), len(columns), dtype=bool)
    strongest = None
    if linkable.any():
        row, column = np.unravel_index(np.argmax(np.where(linkable, weights, -1.0)), weights.shape)
        strongest = Entry(int(row), int(column), float(weights[row, column]))
    shares = np.where(special_columns, -1.0, weights.mean(axis=0))
    column = None if special_columns.all() else int(shares.argmax())
    seeing = weights[mask[:, ~special_columns].any(axis=1)]
    others = np.where(special_columns, -1.0, seeing)
    previous, same, following = ((offset_share(weights, mask, offset) if same_text else 0.0) for offset in (-1, 0, 1))
    return Pattern(
        previous=previous,
        same=same,
        following=following,
        special=float(weights[:, special_columns].sum(axis=1).mean()) if special_columns.any() else 0.0,
        column=column,
        column_share=0.0 if column is None else float(shares[column]),
        peak=float(others.max(axis=1).mean()) if len(others) else 0.0,
        rest=float(seeing[:, special_columns].sum(axis=1).mean()) if len(seeing) else 0.0,
        moves=len(np.unique(others.argmax(axis=1))) > 1,
        entropy=float(row_entropy(weights).mean()),
        limit=float(np.log(np.maximum(mask.sum(axis=1), 1)).mean()),
        strongest=strongest,
    )
