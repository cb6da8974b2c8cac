"""Tests whether different attention weights would give the same attention output.

Source: Brunner et al. 2020, "On Identifiability in Transformers", section 3.
"""

from dataclasses import dataclass

import numpy as np

from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# Two vectors count as equal if the norm of their difference is at most this fraction of the vectors' norm.
EQUALITY_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Attention weights A of a head, split into a part that affects the head's output A T and a part that does not.

    Row j of T = (X W^V + b^V) W^O is what column j adds to the output per unit of weight. If there are more columns
    than d_v, the width of a value vector, T has a left null space: directions in which weights can change without
    changing the output. Only weights that the mask allows can change, so each row's null space is computed from
    the row's visible columns.

    Attributes:
        visible: number of columns that each row may attend to (the sequence length in Brunner et al. 2020), [R].
        width: d_v, the largest possible rank of T.
        rank: rank of T restricted to each row's visible columns, [R].
        sum_keeping: number of null space directions that also keep the sum of the row's weights, as softmax requires,
            [R].
        effective: A without its part in the left null space of T, [R, C]; effective @ T = A @ T. Masked cells are 0.
        null: the part of A in the left null space of T, [R, C].
    """

    visible: np.ndarray
    width: int
    rank: np.ndarray
    sum_keeping: np.ndarray
    effective: np.ndarray
    null: np.ndarray

    @property
    def warning(self) -> bool:
        """Whether any row sees more than d_v columns; the part of T for these columns then has a left null space."""
        return bool((self.visible > self.width).any())

    @property
    def null_dimensions(self) -> np.ndarray:
        """Dimension of each row's left null space, [R].

        It is at least `visible` - d_v, and larger if, for example, value vectors repeat.
        """
        return self.visible - self.rank


def identifiability(weights: np.ndarray, transformed: np.ndarray, mask: np.ndarray, *, width: int) -> Identifiability:
    """Split attention weights into a part that affects the output and a part that does not.

    Args:
        weights: attention weights A of one head, [R, C].
        transformed: T as in `Identifiability`, [C, D].
        mask: bool [R, C], True where the row may attend to the column.
        width: d_v, the width of a value vector.
    """
    effective, (rank, sum_keeping) = np.zeros(weights.shape), np.zeros((2, len(weights)), dtype=int)
    # Rows with identical masks share a null space, so one decomposition per mask is enough.
    patterns, pattern_of = np.unique(mask, axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == number)
        basis = _column_space(transformed[columns])
        effective[np.ix_(rows, columns)] = weights[np.ix_(rows, columns)] @ basis @ basis.T
        rank[rows] = basis.shape[1]
        # With a column of ones appended to T, the left null space contains only directions that leave the sum of
        # the weights unchanged. Its dimension is one lower than that of T's left null space, unless the column of ones
        # is already in T's column space.
        ones = np.ones(len(basis))
        new = np.linalg.norm(ones - basis @ (ones @ basis)) > EQUALITY_TOLERANCE * np.sqrt(len(basis))
        sum_keeping[rows] = len(basis) - basis.shape[1] - new
    return Identifiability(mask.sum(axis=1), width, rank, sum_keeping, effective, weights - effective)


def head_identifiability(trace: Trace, weights: Weights, kind: Kind, layer: int, head: int) -> Identifiability:
    """Split one head's attention weights into an effective and a null part.

    The trace must have been computed with `details=True`.
    """
    values = trace.detail(kind, "values")[layer, head].astype(np.float64)
    transformed = values @ weights.attention(kind, layer).output[head]
    attention = trace.attention(kind)[layer, head].astype(np.float64)
    return identifiability(attention, transformed, trace.mask(kind), width=values.shape[-1])


def _column_space(matrix: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, [C, rank], of the column space of a [C, D] matrix."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    # The trace is float32, so singular values below float32 rounding error count as 0.
    return left[:, sizes > sizes[0] * max(matrix.shape) * np.finfo(np.float32).eps]
