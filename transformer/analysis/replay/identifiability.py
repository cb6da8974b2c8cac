"""Computes whether other attention weights would give the same output (Brunner et al. 2020, "On Identifiability in
Transformers", section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights

# Vectors that differ by less than this, relative to their length, count as equal.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Identifiability:
    """The part of one head's weights A that its output A T depends on; float64.

    T = (X W^V + b^V) W^O is the vector that each of the C columns can add to the output. With more columns than d_v
    numbers in a value, T has a left null space: weights can change there without any effect. A masked row can change
    only where it may look. Each row therefore has the null space of the columns that it may look at.

    Attributes:
        visible: number of columns that each row may look at, the paper's sequence length, [R].
        width: d_v = K, which bounds the rank of T.
        rank: of T, as far as each row sees it, [R].
        sum_keeping: number of directions of its null space in which a row's weights keep their sum, as the weights of a
            softmax must, [R].
        effective: A minus its part in the left null space of T, [R, C]; effective @ T = A @ T. Masked cells are 0.
        null: the part of A in that null space, [R, C].
    """

    visible: np.ndarray
    width: int
    rank: np.ndarray
    sum_keeping: np.ndarray
    effective: np.ndarray
    null: np.ndarray

    @property
    def warning(self) -> bool:
        """Whether the weights of some row cannot be unique: it sees more columns than d_v."""
        return bool((self.visible > self.width).any())

    @property
    def null_dimensions(self) -> np.ndarray:
        """The dimension of each row's left null space, [R]; more than visible - d_v if values repeat."""
        return self.visible - self.rank


def identifiability(weights: np.ndarray, transformed: np.ndarray, mask: np.ndarray, *, width: int) -> Identifiability:
    """Split weights into the part that the output depends on and the rest.

    Args:
        weights: A [R, C].
        transformed: T [C, D].
        mask: bool [R, C], True = may look.
        width: d_v.
    """
    effective, (rank, sum_keeping) = np.zeros(weights.shape), np.zeros((2, len(weights)), dtype=int)
    # Rows that see the same columns share a null space, so they need only one decomposition.
    patterns, pattern_of = np.unique(mask, axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == number)
        seen = _column_space(transformed[columns])
        effective[np.ix_(rows, columns)] = weights[np.ix_(rows, columns)] @ seen @ seen.T
        rank[rows] = seen.shape[1]
        # A column of ones next to T keeps the sum constant. It removes one more direction, unless T contains it.
        ones = np.ones(len(seen))
        new = np.linalg.norm(ones - seen @ (ones @ seen)) > SAME * np.sqrt(len(seen))
        sum_keeping[rows] = len(seen) - seen.shape[1] - new
    return Identifiability(mask.sum(axis=1), width, rank, sum_keeping, effective, weights - effective)


def head_identifiability(trace: Trace, weights: Weights, kind: Kind, layer: int, head: int) -> Identifiability:
    """The identifiability of one head; the trace must have details."""
    values = trace.detail(kind, "values")[layer, head].astype(np.float64)
    transformed = values @ weights.attention(kind, layer).output[head]
    attention = trace.attention(kind)[layer, head].astype(np.float64)
    return identifiability(attention, transformed, trace.mask(kind), width=values.shape[-1])


def _column_space(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis [C, rank] of what matrix [C, D] can reach: the complement of its left null space."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    # The values come from float32, so a singular value below the rounding errors of float32 counts as 0.
    return left[:, sizes > sizes[0] * max(matrix.shape) * np.finfo(np.float32).eps]
