"""Prepares attention maps for display: by token or by word, with or without special tokens."""

from dataclasses import dataclass

import numpy as np

from transformer.analysis.words import Group, groups_of, merge_mask, merge_words
from transformer.values.tokens import Token
from transformer.values.trace import Kind, Trace


@dataclass(frozen=True)
class Axes:
    """Rows (queries) and columns (keys) of an attention map. Each row or column is a group of one or more tokens.

    Attributes:
        kind: attention kind.
        row_positions, column_positions: token positions of each row and column in the trace's arrays.
        rows, columns: tokens of each row and column.
        predicted: tokens that each row predicts; None for the encoder, or if the predicted tokens are unknown.
        row_text, column_text: texts that the tokens' character spans refer to.
        words: whether tokens are merged into words.
        special: whether start and end symbols are included.
    """

    kind: Kind
    row_positions: tuple[Group, ...]
    column_positions: tuple[Group, ...]
    rows: tuple[tuple[Token, ...], ...]
    columns: tuple[tuple[Token, ...], ...]
    predicted: tuple[tuple[Token, ...], ...] | None
    row_text: str
    column_text: str
    words: bool
    special: bool


@dataclass(frozen=True, eq=False)
class View:
    """Attention maps of all layers and heads for one attention kind, ready for display.

    Attributes:
        axes: rows and columns of the maps.
        weights: attention weights, [L, H, R, C]; rows are queries and sum to 1, columns are keys.
        mask: bool [R, C], True where the row may attend to the column; all other weights are 0.
        hidden: share of each row's attention on hidden columns, 0 to 1, [L, H, R]; None if no column is hidden. If
            columns are hidden, each row's other weights are rescaled to sum to 1.
    """

    axes: Axes
    weights: np.ndarray
    mask: np.ndarray
    hidden: np.ndarray | None

    @property
    def layers(self) -> int:
        return self.weights.shape[0]

    @property
    def heads(self) -> int:
        return self.weights.shape[1]


def axes_of(trace: Trace, kind: Kind, *, words: bool = False, special: bool = True) -> Axes:
    """Choose the rows and columns of an attention map.

    Args:
        trace: trace of a model run.
        kind: attention kind.
        words: whether to merge tokens into words.
        special: whether to include start and end symbols. If False, their columns are removed, and in self-attention
            their rows too. Rows left without a column to attend to are also removed. If all columns are start or end
            symbols, nothing is removed.
    """
    row_tokens, column_tokens = trace.query_tokens(kind), trace.key_tokens(kind)
    row_text = trace.source_text if kind == "encoder" else trace.target_text
    column_text = trace.target_text if kind == "decoder" else trace.source_text
    rows, columns = groups_of(row_tokens, row_text, words=words), groups_of(column_tokens, column_text, words=words)
    remaining = tuple(group for group in columns if special or not column_tokens[group[0]].special)
    if len(remaining) in (0, len(columns)):
        special = True
    else:
        mask = merge_mask(trace.mask(kind), rows, remaining)
        rows = tuple(
            group
            for group, sees in zip(rows, mask.sum(axis=1), strict=True)
            if sees and (kind == "cross" or not row_tokens[group[0]].special)
        )
        columns = remaining
    return Axes(
        kind=kind,
        row_positions=rows,
        column_positions=columns,
        rows=_tokens(rows, row_tokens),
        columns=_tokens(columns, column_tokens),
        predicted=_tokens(rows, trace.predicted_tokens) if kind != "encoder" and trace.predicted_tokens else None,
        row_text=row_text,
        column_text=column_text,
        words=words,
        special=special,
    )


def view_of(trace: Trace, kind: Kind, *, words: bool = False, special: bool = True) -> View:
    """Return the attention maps to display, for the rows and columns that `axes_of` chooses.

    If `words` is True, tokens are merged to words. If start and end symbols are hidden, rows are rescaled to sum to 1.
    """
    axes = axes_of(trace, kind, words=words, special=special)
    rows, columns = axes.row_positions, axes.column_positions
    weights = merge_words(trace.attention(kind), rows, columns) if words else trace.attention(kind)
    if not words:
        weights = weights[..., [i for (i,) in rows], :][..., [j for (j,) in columns]]
    hidden = None
    if not axes.special:
        weights, hidden = scaled_rows(weights)
    return View(axes, weights, merge_mask(trace.mask(kind), rows, columns), hidden)


def scaled_rows(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale each row to sum to 1 after columns were removed.

    Args:
        weights: attention weights, [..., R, C].

    Returns:
        The rescaled weights, and each row's attention on the removed columns, [..., R]. A row of zeros stays unchanged.
    """
    total = weights.sum(axis=-1, keepdims=True)
    scaled = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return scaled, 1.0 - np.minimum(total[..., 0], 1.0)


def _tokens(groups: tuple[Group, ...], tokens: tuple[Token, ...]) -> tuple[tuple[Token, ...], ...]:
    return tuple(tuple(tokens[position] for position in group) for group in groups)
