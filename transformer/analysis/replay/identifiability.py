"""Computes whether other attention weights would give the same output.

Source: Brunner et al. 2020, "On Identifiability in Transformers", section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# Two vectors count as equal if the norm of their difference is at most this fraction of their norm.
EQUALITY_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Identifiability:
    """A head's attention weights A, split into a part that changes the head's output A T and a rest; float64.

    Row j of T = (X W^V + b^V) W^O is what column j adds to the output per unit of weight. If there are more columns
    than d_v, the number of values in a value vector, T has a left null space. Weights can change within this null space
    without any effect. A row can change only weights that the mask allows, so each row has the null space of its
    visible columns.

    Attributes:
        visible: number of columns that each row may look at, which is the paper's sequence length, [R].
        width: d_v = K, the largest possible rank of T.
        rank: rank of T restricted to the columns that each row may look at, [R].
        sum_keeping: number of null space directions that keep the sum of each row's weights, as softmax requires, [R].
        effective: A without its part in the left null space of T, [R, C]; effective @ T = A @ T. Masked cells are 0.
        null: part of A in the left null space of T, [R, C].
    """

    visible: np.ndarray
    width: int
    rank: np.ndarray
    sum_keeping: np.ndarray
    effective: np.ndarray
    null: np.ndarray

    @property
    def warning(self) -> bool:
        """Whether any row's weights cannot be unique, because the row sees more columns than d_v."""
        return bool((self.visible > self.width).any())

    @property
    def null_dimensions(self) -> np.ndarray:
        """Dimension of each row's left null space, [R]; more than visible - d_v if, for example, values repeat."""
        return self.visible - self.rank


def identifiability(weights: np.ndarray, transformed: np.ndarray, mask: np.ndarray, *, width: int) -> Identifiability:
    """Split attention weights into a part that changes the output and a part that does not.

    Args:
        weights: attention weights A of one head, [R, C].
        transformed: T as in `Identifiability`, [C, D].
        mask: bool [R, C], True where the row may look at the column.
        width: d_v, the width of a value vector.
    """
    effective, (rank, sum_keeping) = np.zeros(weights.shape), np.zeros((2, len(weights)), dtype=int)
    # Rows that see the same columns share a null space, so they need only one decomposition.
    patterns, pattern_of = np.unique(mask, axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == number)
        basis = _column_space(transformed[columns])
        effective[np.ix_(rows, columns)] = weights[np.ix_(rows, columns)] @ basis @ basis.T
        rank[rows] = basis.shape[1]
        # A column of ones next to T keeps the sum constant. It removes one more direction, unless T already spans it.
        ones = np.ones(len(basis))
        new = np.linalg.norm(ones - basis @ (ones @ basis)) > EQUALITY_TOLERANCE * np.sqrt(len(basis))
        sum_keeping[rows] = len(basis) - basis.shape[1] - new
    return Identifiability(mask.sum(axis=1), width, rank, sum_keeping, effective, weights - effective)


def head_identifiability(trace: Trace, weights: Weights, kind: Kind, layer: int, head: int) -> Identifiability:
    """Compute one head's identifiability, from a trace with details."""
    values = trace.detail(kind, "values")[layer, head].astype(np.float64)
    transformed = values @ weights.attention(kind, layer).output[head]
    attention = trace.attention(kind)[layer, head].astype(np.float64)
    return identifiability(attention, transformed, trace.mask(kind), width=values.shape[-1])


def _column_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis [C, rank] of the column space of a matrix [C, D]."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    # The values come from float32, so singular values below float32 rounding errors count as 0.
    return left[:, sizes > sizes[0] * max(matrix.shape) * np.finfo(np.float32).eps]
