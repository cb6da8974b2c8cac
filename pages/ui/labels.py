"""What stands at the rows and columns of an attention map."""

from __future__ import annotations

from pages.ui.plain import group_label, piece_label
from transformer.analysis.view import Axes

FROM = "from: the {} that looks"
TO = "to: the {} looked at"


def row_labels(axes: Axes) -> list[str]:
    """Labels of the queries; a decoder row names what it reads and what it predicts."""
    labels = [group_label(group, axes.row_text, words=axes.words) for group in axes.rows]
    if axes.predicted is None:
        return labels
    return [f"in: {read} → out: {output_label(axes, row)}" for row, read in enumerate(labels)]


def output_label(axes: Axes, row: int) -> str:
    """What the pieces of a decoder row predict."""
    return "".join(piece_label(piece, axes.row_text) for piece in axes.predicted[row])


def column_labels(axes: Axes) -> list[str]:
    """Labels of the keys."""
    return [group_label(group, axes.column_text, words=axes.words) for group in axes.columns]


def titles(words: bool) -> tuple[str, str]:
    """Titles of the axes: of the rows, and of the columns."""
    size = "word" if words else "piece"
    return FROM.format(size), TO.format(size)
