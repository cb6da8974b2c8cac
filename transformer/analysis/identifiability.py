"""Whether other attention weights would have given the same output (Brunner et al. 2020, "On Identifiability in
Transformers", section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.trace import Kind, Trace
from transformer.weights import Weights


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What of one head's weights A its output A T depends on; float64.

    T = (X W^V + b^V) W^O is what the head can add to the output for each of the C columns. With more columns than d_v
    numbers in a value, T has a left null space: weights can change there and nobody notices.

    Attributes:
        columns: C, the paper's sequence length.
        width: d_v = K, which bounds the rank of T.
        rank: of T.
        effective: A less its part in the left null space of T, [R, C]; effective @ T = A @ T.
        null: that part, [R, C].
    """

    columns: int
    width: int
    rank: int
    effective: np.ndarray
    null: np.ndarray

    @property
    def warning(self) -> bool:
        """Whether the weights cannot be unique, whatever the text: there are more columns than d_v."""
        return self.columns > self.width

    @property
    def null_dimensions(self) -> int:
        """Of the left null space of T; more than C - d_v where values repeat."""
        return self.columns - self.rank


def identifiability(weights: np.ndarray, transformed: np.ndarray, *, width: int) -> Identifiability:
    """Split weights into what the output depends on and the rest.

    Args:
        weights: A [R, C].
        transformed: T [C, D].
        width: d_v.
    """
    left, sizes, _ = np.linalg.svd(transformed, full_matrices=False)
    # The values come from float32: what is below its rounding errors is no direction of its own.
    rank = int((sizes > sizes[0] * max(transformed.shape) * np.finfo(np.float32).eps).sum())
    seen = left[:, :rank]
    effective = weights @ seen @ seen.T
    return Identifiability(len(transformed), width, rank, effective, weights - effective)


def head_identifiability(trace: Trace, weights: Weights, kind: Kind, layer: int, head: int) -> Identifiability:
    """Of one head; the trace must have details."""
    values = trace.details[f"{kind}_values"][layer, head].astype(np.float64)
    transformed = values @ weights.attention(kind, layer).output[head]
    return identifiability(trace.attention(kind)[layer, head].astype(np.float64), transformed, width=values.shape[-1])
