"""The residual stream: what every sub-layer reads from it and writes to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from transformer.analysis.contributions import contributions
from transformer.analysis.feed_forward import FeedForwardPass, feed_forward
from transformer.analysis.layer_norm import NormPass, layer_norm
from transformer.trace import Kind, Stack, Trace
from transformer.weights import Weights

Part = Literal["self_attention", "cross_attention", "feed_forward"]

PARTS: Mapping[Stack, tuple[Part, ...]] = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


@dataclass(frozen=True, eq=False)
class SubLayer:
    """One sub-layer with its residual connection and its layer normalisation, for N positions; float64.

    Pre-norm is after = before + f(norm(before)); post-norm is after = norm(before + f(before)).

    Attributes:
        stack, layer, part: which one; the first layer is 0.
        before: the residual stream as it comes in, from the trace, [N, D].
        read: what the sub-layer reads, [N, D]: the normalised stream in pre-norm, the stream itself in post-norm.
        written: what it adds to the stream, [N, D].
        summed: before + written, [N, D].
        after: the stream as it goes out, from the trace, [N, D].
        norm: the layer normalisation, of `before` in pre-norm and of `summed` in post-norm.
        network: the inside of a feed-forward network; None for attention.
    """

    stack: Stack
    layer: int
    part: Part
    before: np.ndarray
    read: np.ndarray
    written: np.ndarray
    summed: np.ndarray
    after: np.ndarray
    norm: NormPass
    network: FeedForwardPass | None


@dataclass(frozen=True, eq=False)
class StreamSizes:
    """Euclidean norms along a stack of P sub-layers, for N positions.

    Attributes:
        stream: before the first sub-layer and after each, [P + 1, N].
        written: what each adds, [P, N].
    """

    stream: np.ndarray
    written: np.ndarray


def sublayer(trace: Trace, weights: Weights, stack: Stack, layer: int, part: Part) -> SubLayer:
    """Run one sub-layer again, from the numbers of a trace with details."""
    parts, name = PARTS[stack], f"{stack}_layers.{layer}.{part}"
    at = layer * len(parts) + parts.index(part)
    before, after = trace.details[f"{stack}_residual"][at : at + 2].astype(np.float64)
    pre = weights.config.norm == "pre"
    norm = layer_norm(before, weights, f"{name}_residual.norm") if pre else None
    read = before if norm is None else norm.after
    network = None
    if part == "feed_forward":
        network = feed_forward(read, weights, name)
        written = network.written
    else:
        written = contributions(trace, weights, _kind(stack, part), layer).output()
    summed = before + written
    if norm is None:
        norm = layer_norm(summed, weights, f"{name}_residual.norm")
    return SubLayer(stack, layer, part, before, read, written, summed, after, norm, network)


def stream_sizes(trace: Trace, weights: Weights, stack: Stack) -> StreamSizes:
    """How long the residual stream is on its way through a stack, and how much every sub-layer writes to it."""
    stream = trace.details[f"{stack}_residual"].astype(np.float64)
    layers = (len(stream) - 1) // len(PARTS[stack])
    written = [
        sublayer(trace, weights, stack, layer, part).written for layer in range(layers) for part in PARTS[stack]
    ]
    return StreamSizes(np.linalg.norm(stream, axis=-1), np.linalg.norm(written, axis=-1))


def stack_output(trace: Trace, weights: Weights, stack: Stack) -> np.ndarray:
    """What a stack hands on, float64 [N, D]: its last stream, which pre-norm has yet to normalise."""
    last = trace.details[f"{stack}_residual"][-1].astype(np.float64)
    return layer_norm(last, weights, f"{stack}_norm").after if weights.config.norm == "pre" else last


def _kind(stack: Stack, part: Part) -> Kind:
    return "cross" if part == "cross_attention" else stack
