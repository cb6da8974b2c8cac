"""Residual connection and layer norm around a sub-layer f, for pre-norm and post-norm.

Post-norm is norm(x + f(x)) ("Attention Is All You Need", section 3.1). Pre-norm is x + f(norm(x)) (Xiong et al. 2020,
"On Layer Normalization in the Transformer Architecture"). As in `transformer.model.layers`, `read` computes the input
of f, and `write` adds the output of f to x.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm, layer_norm_backward
from transformer.backpropagation.notes import Notes
from transformer.config import NormPlacement


class ReadGradients(NamedTuple):
    """Gradients of x through the sub-layer only, [B, T, D], and of the norm's parameters (pre-norm only)."""

    x: np.ndarray
    parameters: dict[str, np.ndarray]


class WriteGradients(NamedTuple):
    """Gradients of the summands x and y, [B, T, D] each, and of the norm's parameters (post-norm only)."""

    x: np.ndarray
    y: np.ndarray
    parameters: dict[str, np.ndarray]


def read(
    x: np.ndarray, parameters: Mapping[str, np.ndarray], norm: NormPlacement, notes: Notes
) -> tuple[np.ndarray, LayerNormSaved | None]:
    """Return a sub-layer's input, [B, T, D], given the residual stream x: norm(x) in pre-norm, x in post-norm."""
    if norm == "post":
        return x, None
    normed, saved = layer_norm(x, parameters["norm.weight"], parameters["norm.bias"])
    return notes.note("read", normed), saved


def read_backward(grad: np.ndarray, saved: LayerNormSaved | None, notes: Notes) -> ReadGradients:
    """Return the gradients of x and of the norm's parameters, given the gradient of the result of `read`, [B, T, D]."""
    if saved is None:
        return ReadGradients(grad, {})
    norm_gradients = layer_norm_backward(notes.note("read", grad), saved)
    return ReadGradients(norm_gradients.x, {"norm.weight": norm_gradients.gain, "norm.bias": norm_gradients.bias})


def write(
    x: np.ndarray, y: np.ndarray, parameters: Mapping[str, np.ndarray], norm: NormPlacement, notes: Notes
) -> tuple[np.ndarray, LayerNormSaved | None]:
    """Add a sub-layer's output y to the residual stream x, both [B, T, D]; in post-norm, normalise the sum.

    Also return the values that the norm's backward pass needs; None in pre-norm.
    """
    after, saved = x + notes.note("written", y), None
    if norm == "post":
        after, saved = layer_norm(notes.note("summed", after), parameters["norm.weight"], parameters["norm.bias"])
    return notes.note("after", after), saved


def write_backward(grad: np.ndarray, saved: LayerNormSaved | None, notes: Notes) -> WriteGradients:
    """Return the gradients of x, y and the norm's parameters, given the gradient of the result of `write`, [B, T, D].

    A sum passes its gradient on to both summands. In pre-norm, the gradient therefore passes through the
    residual connection unchanged, so even deep stacks can be trained.
    """
    notes.note("after", grad)
    parameters = {}
    if saved is not None:
        norm_gradients = layer_norm_backward(grad, saved)
        grad = notes.note("summed", norm_gradients.x)
        parameters = {"norm.weight": norm_gradients.gain, "norm.bias": norm_gradients.bias}
    return WriteGradients(x=grad, y=notes.note("written", grad), parameters=parameters)
