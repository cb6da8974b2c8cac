"""Replays the residual stream, with the input and output of every sub-layer."""

from dataclasses import dataclass

import numpy as np

from transformer.analysis.replay.contributions import contributions
from transformer.backpropagation.feed_forward import feed_forward
from transformer.backpropagation.layer_norm import layer_norm
from transformer.backpropagation.notes import Notes, select
from transformer.backpropagation.residual import read, write
from transformer.values.trace import Part, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class SubLayer:
    """One sub-layer f with its residual connection and layer normalisation, for N positions, float64.

    In pre-norm, after = before + f(norm(before)). In post-norm, after = norm(before + f(before)).

    Attributes:
        stack, layer, part: encoder or decoder, 0-based layer, and type of sub-layer.
        before: residual stream before the sub-layer, from the trace, [N, D].
        read: input of f, [N, D]: the normalised stream in pre-norm, the stream itself in post-norm.
        written: output of f, which is added to the stream, [N, D].
        summed: before + written, [N, D].
        after: residual stream after the sub-layer, from the trace, [N, D].
        norm_before: input of the layer normalisation, [N, D]: `before` in pre-norm, `summed` in post-norm.
        normalised: `norm_before` with mean 0 and standard deviation 1, [N, D].
        normed: `normalised` after gain and bias, [N, D].
        hidden: hidden layer of a feed-forward network, [N, F]; None for attention.
    """

    stack: Stack
    layer: int
    part: Part
    before: np.ndarray
    read: np.ndarray
    written: np.ndarray
    summed: np.ndarray
    after: np.ndarray
    norm_before: np.ndarray
    normalised: np.ndarray
    normed: np.ndarray
    hidden: np.ndarray | None


@dataclass(frozen=True, eq=False)
class StreamSizes:
    """Vector lengths (Euclidean norms) along a stack of P sub-layers, for N positions.

    Attributes:
        stream: norm of the residual stream before the first sub-layer and after each sub-layer, [P + 1, N].
        written: norm of the vector that each sub-layer adds to the stream, [P, N].
    """

    stream: np.ndarray
    written: np.ndarray


def sublayer(trace: Trace, weights: Weights, stack: Stack, layer: int, part: Part) -> SubLayer:
    """Recompute one sub-layer step by step. Requires a trace computed with `details=True`."""
    config, name, notes = weights.config, f"{stack}_layers.{layer}.{part}", Notes()
    before, after = (stream.astype(np.float64) for stream in trace.residual(stack, layer, part))
    norm = select(weights.arrays, f"{name}_residual")
    network_input, read_norm = read(before, norm, config.norm, notes)
    if part == "feed_forward":
        output, _ = feed_forward(network_input, select(weights.arrays, name), config.activation, notes)
    else:
        output = contributions(trace, weights, "cross" if part == "cross_attention" else stack, layer).output()
    normed, write_norm = write(before, output, norm, config.norm, notes)
    summed = before + output
    saved = read_norm or write_norm
    assert saved is not None, "expected a layer norm before or after the sub-layer, but found none"
    return SubLayer(
        stack,
        layer,
        part,
        before,
        network_input,
        output,
        summed,
        after,
        before if read_norm else summed,
        saved.normalised,
        network_input if read_norm else normed,
        notes.values.get("hidden"),
    )


def stream_sizes(trace: Trace, weights: Weights, stack: Stack) -> StreamSizes:
    """Compute norms of the residual stream and sub-layer outputs. Requires a trace computed with `details=True`."""
    stream = trace.residual_stream(stack).astype(np.float64)
    parts = trace.parts(stack)
    layers = (len(stream) - 1) // len(parts)
    outputs = [sublayer(trace, weights, stack, layer, part).written for layer in range(layers) for part in parts]
    return StreamSizes(np.linalg.norm(stream, axis=-1), np.linalg.norm(outputs, axis=-1))


def stack_output(trace: Trace, weights: Weights, stack: Stack) -> np.ndarray:
    """Return the output of the encoder or decoder, float64 [N, D].

    The output is the residual stream after the last sub-layer. Pre-norm models also apply the final layer
    normalisation.
    """
    last = trace.residual_stream(stack)[-1].astype(np.float64)
    return layer_norm(last, *weights.gain_and_bias(f"{stack}_norm"))[0] if weights.config.norm == "pre" else last
