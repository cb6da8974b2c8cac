"""Summarises one head's attention pattern on a sentence in a few numbers."""

from dataclasses import dataclass

import numpy as np

from transformer.values.tokens import Token


@dataclass(frozen=True)
class Entry:
    """One cell of an attention map, with its attention weight, 0 to 1."""

    row: int
    column: int
    weight: float


@dataclass(frozen=True)
class Pattern:
    """A head's attention pattern on one sentence.

    Attributes:
        previous, same, following: mean attention from a row to the previous position, its own position and the next
            position; 0 except in self-attention. Each mean leaves out rows for which the position does not exist.
        special: mean fraction of attention on start and end symbols.
        column: non-special position with the largest mean attention over all rows; None if every position is special.
        column_share: mean fraction of attention on `column`.
        peak: mean of each row's largest weight on a non-special position. Rows that may attend only to start and end
            symbols are left out; 0 if no row is left.
        rest: mean fraction of attention on start and end symbols, over the rows that count for `peak`.
        moves: whether the largest weights that count for `peak` are in more than one column.
        entropy: mean entropy of the rows, in nats (Shannon 1948).
        limit: mean entropy that the rows would have if attention were uniform, in nats.
        strongest: cell with the largest weight on a non-special position. In self-attention, both positions must be
            non-special and different. None if there is no such cell.
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
    """Return each row's entropy in nats, [..., R], for weights [..., R, C]; 0 for a row with one weight of 1."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return 0.0 - (weights * logs).sum(axis=-1)


def offset_share(weights: np.ndarray, mask: np.ndarray, offset: int) -> float:
    """Return the mean weight of the unmasked cells at column = row + offset; 0 if there are none."""
    places = [
        (row, row + offset)
        for row in range(weights.shape[0])
        if 0 <= row + offset < weights.shape[1] and mask[row, row + offset]
    ]
    return float(np.mean([weights[place] for place in places])) if places else 0.0


def pattern(
    weights: np.ndarray,
    mask: np.ndarray,
    rows: tuple[tuple[Token, ...], ...],
    columns: tuple[tuple[Token, ...], ...],
    *,
    same_text: bool,
) -> Pattern:
    """Summarise the pattern of one head's map.

    Args:
        weights: attention weights, [R, C]; rows sum to 1.
        mask: bool [R, C], True where the row may attend to the column.
        rows, columns: tokens of each row and column.
        same_text: whether rows and columns are the same text (self-attention), so that "previous" and "same" are
            defined.
    """
    special_columns = np.array([group[0].special for group in columns])
    special_rows = np.array([group[0].special for group in rows])
    linkable = mask & ~special_columns[None, :]
    # Cross-attention keeps special rows, because the start symbol's row is the step that writes the first word.
    if same_text:
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
