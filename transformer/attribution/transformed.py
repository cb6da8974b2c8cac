"""The vectors that an attention layer and its residual connection add up, one per input position.

Source: Kobayashi et al. 2021, "Incorporating Residual and Normalization Layers into Analysis of Masked Language
Models", section 3: y_i = sum over j of T_i(x_j), plus biases. T_i(x_j) is the sum over the heads of a_ij f_h(x_j), plus
x_i itself if j = i. In post-norm models, the linear part of the next layer normalisation is also applied to each
vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.attribution.mixing import Mixing
from transformer.backpropagation.layer_norm import EPSILON
from transformer.values.trace import Kind, Part, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class TransformedVectors:
    """The vectors that are summed by one attention layer and its residual connection; float64.

    Letters: R rows, C columns, D model width.

    Attributes:
        vectors: T_i(x_j), [R, C, D]. Cross-attention has an additional last column for the residual connection.
        output: sum of the vectors and the biases, [R, D].
    """

    vectors: np.ndarray
    output: np.ndarray


def transformed_vectors(trace: Trace, weights: Weights, kind: Kind, layer: int) -> TransformedVectors:
    """Compute the vectors that one attention layer adds up. Requires a trace computed with `details=True`."""
    stack: Stack = "encoder" if kind == "encoder" else "decoder"
    part: Part = "cross_attention" if kind == "cross" else "self_attention"
    stream = trace.residual(stack, layer, part)[0].astype(np.float64)
    terms = contributions(trace, weights, kind, layer)
    vectors = np.einsum("hrc,hcd->rcd", terms.weights, terms.transformed, optimize=True)
    if kind == "cross":
        vectors = np.concatenate((vectors, stream[:, None]), axis=1)
    else:
        diagonal = np.arange(len(stream))
        vectors[diagonal, diagonal] += stream
    output = vectors.sum(axis=1) + terms.bias
    if weights.config.norm == "post":
        gain, bias = weights.gain_and_bias(f"{stack}_layers.{layer}.{part}_residual.norm")
        deviation = np.sqrt(output.var(axis=-1, keepdims=True) + EPSILON)
        vectors = linear_layer_norm(vectors, gain, deviation[:, None])
        output = linear_layer_norm(output, gain, deviation) + bias
    return TransformedVectors(vectors, output)


def linear_layer_norm(vectors: np.ndarray, gain: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Apply a layer normalisation without its bias to each summand of its input: gain times (v - mean(v)) / s.

    Args:
        vectors: summands v, [..., D].
        gain: gain of the layer normalisation, [D].
        deviation: s, the standard deviation of the whole sum including epsilon, broadcastable to `vectors`.
    """
    return gain * (vectors - vectors.mean(axis=-1, keepdims=True)) / deviation


def mixing_of(trace: Trace, weights: Weights, measure: Callable[[TransformedVectors], np.ndarray]) -> Mixing:
    """Build mixing matrices; `measure` turns a layer's vectors into its matrix, [R, C], whose rows sum to 1."""

    def measured(kind: Kind) -> np.ndarray:
        layers = range(len(trace.attention(kind)))
        return np.stack([measure(transformed_vectors(trace, weights, kind, layer)) for layer in layers])

    cross = measured("cross")
    return Mixing(measured("encoder"), measured("decoder"), cross[..., :-1], cross[..., -1])
