"""Splits an attention layer's output into one vector per head and input position.

Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms". The output at
position i is the sum over heads h and positions j of `a_ij f_h(x_j)`, plus `b^O`, with `f_h(x) = (x W^V_h + b^V_h)
W^O_h`. A large weight on a short vector has little effect, so the norm of `a_ij f_h(x_j)` is more informative than
the weight.

Letters: H heads, R rows (queries), C columns (keys), D model width.
"""

from dataclasses import dataclass

import numpy as np

from transformer.values.trace import Kind, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class Contributions:
    """The vectors that add up to an attention layer's output, float64.

    Attributes:
        weights: attention weights a, [H, R, C].
        transformed: f_h(x_j), the value vector of each position after the head's output projection, [H, C, D].
        bias: output bias b^O, [D].
    """

    weights: np.ndarray
    transformed: np.ndarray
    bias: np.ndarray

    def terms(self, row: int) -> np.ndarray:
        """Return the vectors a_ij f_h(x_j) of one row i, [H, C, D].

        With the bias, they add up to the row's output.
        """
        return self.weights[:, row, :, None] * self.transformed

    def heads(self) -> np.ndarray:
        """Return the sum of each head's vectors a_ij f_h(x_j) over all columns j, [H, R, D]."""
        return self.weights @ self.transformed

    def output(self) -> np.ndarray:
        """Return the attention layer's output, [R, D]: the sum over heads, plus the output bias."""
        return self.heads().sum(axis=0) + self.bias

    def head_norms(self) -> np.ndarray:
        """Return the norm-based counterpart of attention weights: the norm of each vector a_ij f_h(x_j), [H, R, C]."""
        return self.weights * np.linalg.norm(self.transformed, axis=-1)[:, None, :]

    def layer_norms(self) -> np.ndarray:
        """Add up the vectors a_ij f_h(x_j) of all heads, and return the norm of each sum, [R, C]."""
        # Work column by column, because all columns at once would need R * C * D numbers.
        columns = [
            np.linalg.norm(np.einsum("hr,hd->rd", self.weights[:, :, column], self.transformed[:, column]), axis=-1)
            for column in range(self.weights.shape[-1])
        ]
        return np.stack(columns, axis=-1)


def contributions(trace: Trace, weights: Weights, kind: Kind, layer: int) -> Contributions:
    """From a trace with details, compute the vectors that add up to one attention layer's output."""
    projections = weights.attention(kind, layer)
    values = trace.detail(kind, "values")[layer].astype(np.float64)
    return Contributions(
        weights=trace.attention(kind)[layer].astype(np.float64),
        transformed=values @ projections.output,
        bias=projections.output_bias,
    )
