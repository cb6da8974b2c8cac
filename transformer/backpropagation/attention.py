"""Scaled dot-product attention and multi-head attention ("Attention Is All You Need", section 3.2)."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.linear import LinearSaved, linear, linear_backward
from transformer.backpropagation.notes import Notes
from transformer.backpropagation.softmax import softmax, softmax_backward
from transformer.model.encodings import NO_POSITIONS, RelativePositionArrays, turn


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    """Reshape [B, T, D] to [B, H, T, K]. The backward function is the inverse, `join_heads`."""
    batch, length, _ = x.shape
    return x.reshape(batch, length, heads, -1).swapaxes(1, 2)  # [B, T, H, K] -> [B, H, T, K]


def join_heads(x: np.ndarray) -> np.ndarray:
    """Reshape [B, H, T, K] to [B, T, D]. The backward function is the inverse, `split_heads`."""
    batch, _, length, _ = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, -1)  # [B, H, T, K] -> [B, T, H, K] -> [B, T, D]


class AttentionSaved(NamedTuple):
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    weights: np.ndarray


class AttentionGradients(NamedTuple):
    """Gradients of the inputs: dQ [..., T, d_k], dK and dV [..., S, d_k]."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray


def scaled_dot_product_attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    allowed: np.ndarray | None,
    notes: Notes,
    biases: np.ndarray | None = None,
) -> tuple[np.ndarray, AttentionSaved]:
    """Return O = A V, where A = softmax(s) and s = Q K^T / sqrt(d_k) (Vaswani et al. 2017, equation 1).

    Args:
        query: queries Q, [..., T, d_k].
        key, value: keys K and values V, [..., S, d_k].
        allowed: bool, broadcastable to [..., T, S], True where the query may attend to the key; None allows everything.
        notes: receives scores and weights, [..., T, S].
        biases: constants added to s, broadcastable to [..., T, S]; None for none. They get no gradient.

    Returns:
        Output O, [..., T, d_k], and the values that the backward pass needs.
    """
    scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    scores = notes.note("scores", scores if biases is None else scores + biases)
    weights = notes.note("weights", softmax(scores, allowed))
    return weights @ value, AttentionSaved(query, key, value, weights)


def scaled_dot_product_attention_backward(grad: np.ndarray, saved: AttentionSaved, notes: Notes) -> AttentionGradients:
    """Return dV = A^T dO, dQ = ds K / sqrt(d_k) and dK = ds^T Q / sqrt(d_k) for head width d_k.

    Two intermediate gradients are needed: dA = dO V^T and ds = softmax_backward(dA, A). Attention is two matrix
    products with a softmax in between, and each product has two gradients. Dao et al. 2022, "FlashAttention", appendix
    B.2, derive the same formulas.

    Args:
        grad: gradient of the output, dO [..., T, d_k].
        saved: values from the forward pass.
        notes: receives dA and ds, [..., T, S].
    """
    query, key, value, weights = saved
    d_weights = notes.note("weights", grad @ value.swapaxes(-1, -2))
    d_scores = notes.note("scores", softmax_backward(d_weights, weights))
    scaled = d_scores / math.sqrt(query.shape[-1])
    return AttentionGradients(
        query=scaled @ key, key=scaled.swapaxes(-1, -2) @ query, value=weights.swapaxes(-1, -2) @ grad
    )


class MultiHeadSaved(NamedTuple):
    """Values that each part saved for the backward pass, and the rotation angles of queries and keys (or None)."""

    query: LinearSaved
    key: LinearSaved
    value: LinearSaved
    attention: AttentionSaved
    output: LinearSaved
    angles: np.ndarray | None


class MultiHeadGradients(NamedTuple):
    """Gradients of the query input, dx [B, T, D], of the key and value input, dmemory [B, S, D], and of parameters."""

    x: np.ndarray
    memory: np.ndarray
    parameters: dict[str, np.ndarray]


def multi_head_attention(
    x: np.ndarray,
    memory: np.ndarray,
    parameters: Mapping[str, np.ndarray],
    heads: int,
    allowed: np.ndarray | None,
    notes: Notes,
    relative: RelativePositionArrays = NO_POSITIONS,
) -> tuple[np.ndarray, MultiHeadSaved]:
    """Return [O_1; ...; O_H] W_O^T + b_O, where O_h is the output of head h (section 3.2.2).

    Args:
        x: input of the queries, [B, T, D].
        memory: input of the keys and values, [B, S, D]; equal to x in self-attention.
        parameters: `in_projection` stacks W_Q, W_K and W_V, weight [3D, D] and bias [3D]. `out_projection` is W_O,
            weight [D, D] and bias [D].
        heads: number of heads H.
        allowed: bool, broadcastable to [B, H, T, S], True where the query may attend to the key; None allows
            everything.
        notes: receives the queries, keys, values and outputs [B, H, ., K], the scores and weights, and the joined
            outputs of all heads [B, T, D].
        relative: relative-position biases for the scores, or rotations of queries and keys.

    Returns:
        Output of the attention sub-layer, [B, T, D], and the values that the backward pass needs.
    """
    (w_query, w_key, w_value), (b_query, b_key, b_value) = (
        np.split(parameters[f"in_projection.{name}"], 3) for name in ("weight", "bias")
    )
    query, query_saved = linear(x, w_query, b_query)
    key, key_saved = linear(memory, w_key, b_key)
    value, value_saved = linear(memory, w_value, b_value)
    angles = relative.angles
    outputs, attention_saved = scaled_dot_product_attention(
        notes.note("queries", turn(split_heads(query, heads), angles)),
        notes.note("keys", turn(split_heads(key, heads), angles)),
        notes.note("values", split_heads(value, heads)),
        allowed,
        notes,
        relative.biases,
    )
    joined = notes.note("joined", join_heads(notes.note("outputs", outputs)))
    y, output_saved = linear(joined, parameters["out_projection.weight"], parameters["out_projection.bias"])
    return y, MultiHeadSaved(query_saved, key_saved, value_saved, attention_saved, output_saved, angles)


def multi_head_attention_backward(grad: np.ndarray, saved: MultiHeadSaved, notes: Notes) -> MultiHeadGradients:
    """Return the gradients of the inputs and parameters, by the chain rule from the last step to the first.

    The steps are output projection, joining of the heads, attention, rotation, splitting into heads, and input
    projections. The gradients of rotated queries and keys are multiplied by the transposes of the rotations, which
    are rotations by the negative angles.

    Args:
        grad: gradient of the output, dy [B, T, D].
        saved: values from the forward pass.
        notes: receives a gradient for every result that the forward pass noted.
    """
    heads = saved.attention.query.shape[1]
    output = linear_backward(grad, saved.output)
    d_outputs = notes.note("outputs", split_heads(notes.note("joined", output.x), heads))
    attention = scaled_dot_product_attention_backward(d_outputs, saved.attention, notes)
    back = None if saved.angles is None else -saved.angles
    query = linear_backward(join_heads(turn(notes.note("queries", attention.query), back)), saved.query)
    key = linear_backward(join_heads(turn(notes.note("keys", attention.key), back)), saved.key)
    value = linear_backward(join_heads(notes.note("values", attention.value)), saved.value)
    return MultiHeadGradients(
        x=query.x,
        # Keys and values are computed from the same vectors, so their gradients add up.
        memory=key.x + value.x,
        parameters={
            "in_projection.weight": np.concatenate([query.weight, key.weight, value.weight]),
            "in_projection.bias": np.concatenate([query.bias, key.bias, value.bias]),
            "out_projection.weight": output.weight,
            "out_projection.bias": output.bias,
        },
    )
