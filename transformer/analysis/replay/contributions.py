"""The contribution of every position, through every head, to the output of an attention layer.

Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms". The output at
position i is the sum over heads h and positions j of `a_ij f_h(x_j)`, plus `b^O`. The function is
`f_h(x) = (x W^V_h + b^V_h) W^O_h`. A large weight on a short vector has little effect, so the norm says more than the
weight.

Letters: H heads, R rows (queries), C columns (keys), D model width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class Contributions:
    """The sum that is the output of one attention layer; float64.

    Attributes:
        weights: a, [H, R, C].
        transformed: f_h(x_j), each position's value times the head's rows of the output projection, [H, C, D].
        bias: b^O, [D].
    """

    weights: np.ndarray
    transformed: np.ndarray
    bias: np.ndarray

    def terms(self, row: int) -> np.ndarray:
        """a_ij f_h(x_j) of one row i, [H, C, D]."""
        return self.weights[:, row, :, None] * self.transformed

    def heads(self) -> np.ndarray:
        """The contribution of each head, [H, R, D]."""
        return self.weights @ self.transformed

    def output(self) -> np.ndarray:
        """The sub-layer's contribution to the residual stream, [R, D]."""
        return self.heads().sum(axis=0) + self.bias

    def head_norms(self) -> np.ndarray:
        """Euclidean norms of all a_ij f_h(x_j), [H, R, C]: the norm-based weights of each head."""
        return self.weights * np.linalg.norm(self.transformed, axis=-1)[:, None, :]

    def layer_norms(self) -> np.ndarray:
        """Norms of the sums over the heads of a_ij f_h(x_j), [R, C]: the norm-based weights of the layer."""
        # The sums are computed column by column: all at once would be R * C * D numbers.
        columns = [
            np.linalg.norm(np.einsum("hr,hd->rd", self.weights[:, :, column], self.transformed[:, column]), axis=-1)
            for column in range(self.weights.shape[-1])
        ]
        return np.stack(columns, axis=-1)


def contributions(trace: Trace, weights: Weights, kind: Kind, layer: int) -> Contributions:
    """The contributions in one attention layer; the trace must have details."""
    projections = weights.attention(kind, layer)
    values = trace.detail(kind, "values")[layer].astype(np.float64)
    return Contributions(
        weights=trace.attention(kind)[layer].astype(np.float64),
        transformed=values @ projections.output,
        bias=projections.output_bias,
    )
