"""The residual stream: what every sub-layer reads from it and writes to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.analysis.replay.feed_forward import FeedForwardPass, feed_forward
from transformer.analysis.replay.layer_norm import NormPass, layer_norm
from transformer.values.trace import Kind, Part, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class SubLayer:
    """One sub-layer with its residual connection and its layer normalisation, for N positions; float64.

    Pre-norm is after = before + f(norm(before)); post-norm is after = norm(before + f(before)).

    Attributes:
        stack, layer, part: which one; the first layer is 0.
        before: the residual stream before it, from the trace, [N, D].
        read: what the sub-layer reads, [N, D]: the normalised stream in pre-norm, the stream itself in post-norm.
        written: what it adds to the stream, [N, D].
        summed: before + written, [N, D].
        after: the stream after it, from the trace, [N, D].
        norm: the layer normalisation, of `before` in pre-norm and of `summed` in post-norm.
        network: the hidden layer of a feed-forward network; None for attention.
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
    """Replay one sub-layer from a trace with details."""
    name = f"{stack}_layers.{layer}.{part}"
    before, after = (stream.astype(np.float64) for stream in trace.residual(stack, layer, part))
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
    """Norms of the residual stream through a stack, and of what every sub-layer writes to it; the trace has details."""
    stream = trace.residual_stream(stack).astype(np.float64)
    parts = trace.parts(stack)
    layers = (len(stream) - 1) // len(parts)
    written = [sublayer(trace, weights, stack, layer, part).written for layer in range(layers) for part in parts]
    return StreamSizes(np.linalg.norm(stream, axis=-1), np.linalg.norm(written, axis=-1))


def stack_output(trace: Trace, weights: Weights, stack: Stack) -> np.ndarray:
    """The output of a stack, float64 [N, D]: its last stream, normalised in pre-norm."""
    last = trace.residual_stream(stack)[-1].astype(np.float64)
    return layer_norm(last, weights, f"{stack}_norm").after if weights.config.norm == "pre" else last


def _kind(stack: Stack, part: Part) -> Kind:
    return "cross" if part == "cross_attention" else stack
