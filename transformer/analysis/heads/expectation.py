"""Predicts from a head's name where the head attends in a sentence, and finds the row that deviates most."""

from dataclasses import dataclass

import numpy as np

from transformer.analysis.aligner import MIN_ALIGNED_SHARE
from transformer.analysis.heads.metrics import OFFSETS, HeadMetrics, is_punctuation
from transformer.analysis.heads.names import ROUNDING
from transformer.analysis.view import View
from transformer.values.tokens import Token

# Let c be the column with a row's largest actual weight. The row is an outlier if the expected weight in c is at least
# this much below the row's largest expected weight.
OUTLIER_SHARE = 0.1


@dataclass(frozen=True)
class Outlier:
    """The row in which a head deviates most from what its name predicts.

    Attributes:
        row: index of the row in the view.
        column: column with the row's largest weight.
        expected: column that the head's name predicts.
        rows: number of outlier rows.
        counted: number of rows for which the name predicts a column.
    """

    row: int
    column: int
    expected: int
    rows: int
    counted: int


@dataclass(frozen=True, eq=False)
class Expectation:
    """The columns that heads with a given name are expected to attend to.

    Attributes:
        weights: expected weights, float64 [R, C]. For an alignment head, the mean map of all alignment heads, with 0
            in special columns; for a positional head, 1 at the predicted position and 0 elsewhere.
        counted: for each row, whether the name predicts a column, bool [R]; True for at least one row.
        read: whether a row is labelled with the token that its step reads, rather than the one that its step predicts.
    """

    weights: np.ndarray
    counted: np.ndarray
    read: bool

    def support(self, weights: np.ndarray) -> np.ndarray:
        """Find the strongest column of `weights` in each counted row; return the mean of the expected weights there.

        Args:
            weights: attention weights, [..., R, C].

        Returns:
            The averages, [...].
        """
        return self._at_strongest(weights)[..., self.counted].mean(axis=-1)

    def outlier(self, weights: np.ndarray) -> Outlier | None:
        """Return the row where a map, [R, C], deviates most from the expectation; None if no row is an outlier."""
        missing = np.where(self.counted, self.weights.max(axis=-1) - self._at_strongest(weights), 0.0)
        row = int(missing.argmax())
        if missing[row] < OUTLIER_SHARE:
            return None
        return Outlier(
            row,
            int(weights[row].argmax()),
            int(self.weights[row].argmax()),
            int((missing >= OUTLIER_SHARE).sum()),
            int(self.counted.sum()),
        )

    def _at_strongest(self, weights: np.ndarray) -> np.ndarray:
        return self.weights[np.arange(len(self.weights)), weights.argmax(axis=-1)]


def alignment_heads(metrics: HeadMetrics) -> tuple[np.ndarray, bool]:
    """Return the heads that align more than half of the words, bool [L, H], and whether they align one step late.

    Heads that align the word predicted at each step are preferred, because people read a map's row as the word that its
    step writes. If there are none, return the heads that align the word read at each step, one step after its writing.
    """
    early, late = (metrics.values[f"alignment_{step}"] > MIN_ALIGNED_SHARE + ROUNDING for step in ("predicted", "read"))
    return (early, False) if early.any() else (late, True)


def alignment_expectation(view: View, metrics: HeadMetrics) -> Expectation | None:
    """Return where alignment heads are expected to attend in a sentence.

    Return None if the model has no alignment heads, or if no row of the view contains a word.
    """
    heads, read = alignment_heads(metrics)
    rows = view.axes.rows if read or view.axes.predicted is None else view.axes.predicted
    counted = np.array([_has_word(row, view.axes.row_text) for row in rows])
    if not heads.any() or not counted.any():
        return None
    together = view.weights[heads].mean(axis=0, dtype=np.float64)
    return Expectation(np.where(_is_special(view), 0.0, together), counted, read)


def position_expectation(view: View, name: str) -> Expectation | None:
    """Return where a head named "previous token", "same token" or "next token" should attend; None for other names.

    Words of several tokens are excluded, because a positional head may attend within the word. A row is also excluded
    if it should attend to the first token or a special token, because heads with nothing to do attend there.

    Return None if no row is left.
    """
    offset = OFFSETS.get(name.removesuffix(" token"))
    if offset is None:
        return None
    count = len(view.axes.rows)
    rows = np.arange(count)
    columns = np.clip(rows + offset, 0, count - 1)
    single = np.array([len(row) == 1 for row in view.axes.rows])
    # Only self-attention heads have names such as "previous token", so the rows and columns here are the same tokens.
    special = _is_special(view)
    counted = (columns == rows + offset) & (columns > 0) & ~special & ~special[columns] & single & single[columns]
    return Expectation(np.eye(count)[columns], counted, read=True) if counted.any() else None


def _has_word(tokens: tuple[Token, ...], text: str) -> bool:
    return any(not token.special and not is_punctuation(token, text) for token in tokens)


def _is_special(view: View) -> np.ndarray:
    return np.array([group[0].special for group in view.axes.columns])
