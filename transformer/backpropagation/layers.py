"""Encoder and decoder layers, forward and backward ("Attention Is All You Need", section 3.1)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.attention import MultiHeadSaved, multi_head_attention, multi_head_attention_backward
from transformer.backpropagation.feed_forward import FeedForwardSaved, feed_forward, feed_forward_backward
from transformer.backpropagation.layer_norm import LayerNormSaved
from transformer.backpropagation.notes import Notes, prefix, select
from transformer.backpropagation.residual import read, read_backward, write, write_backward
from transformer.config import TransformerConfig
from transformer.model.encodings import NO_POSITIONS, relative_positions


class AttentionSubLayerSaved(NamedTuple):
    read: LayerNormSaved | None
    attention: MultiHeadSaved
    write: LayerNormSaved | None


class FeedForwardSubLayerSaved(NamedTuple):
    read: LayerNormSaved | None
    network: FeedForwardSaved
    write: LayerNormSaved | None


class LayerSaved(NamedTuple):
    """Values saved by each sub-layer; `cross_attention` is None in an encoder layer."""

    self_attention: AttentionSubLayerSaved
    cross_attention: AttentionSubLayerSaved | None
    feed_forward: FeedForwardSubLayerSaved


class LayerGradients(NamedTuple):
    """Gradients of the input (dx, [B, N, D]), the parameters, and the encoder output (dmemory, [B, S, D]).

    `memory` is None if the layer or sub-layer does not read the encoder output.
    """

    x: np.ndarray
    parameters: dict[str, np.ndarray]
    memory: np.ndarray | None = None


def layer(
    x: np.ndarray,
    memory: np.ndarray | None,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    memory_allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, LayerSaved]:
    """Apply self-attention, cross-attention if there is an encoder output, and the feed-forward network.

    Args:
        x: input, [B, N, D].
        memory: encoder output, [B, S, D]; None in an encoder layer.
        parameters: the layer's parameters, by their names in a checkpoint.
        config: model configuration.
        allowed: bool, broadcastable to [B, H, N, N], True where a query may attend to a key; None allows everything.
        memory_allowed: mask for cross-attention, broadcastable to [B, H, N, S].
        notes: receives the intermediate results.

    Returns:
        Output of the layer, [B, N, D], and the values that the backward pass needs.
    """
    x, self_attention = attention_sublayer("self_attention", x, None, parameters, config, allowed, notes)
    cross_attention = None
    if memory is not None:
        x, cross_attention = attention_sublayer("cross_attention", x, memory, parameters, config, memory_allowed, notes)
    x, network = feed_forward_sublayer(x, parameters, config, notes)
    return x, LayerSaved(self_attention, cross_attention, network)


def layer_backward(grad: np.ndarray, saved: LayerSaved, notes: Notes) -> LayerGradients:
    """Compute a layer's gradients, from the last sub-layer to the first; `grad` is the output's gradient, [B, N, D]."""
    dx, parameters, memory = feed_forward_sublayer_backward(grad, saved.feed_forward, notes)
    if saved.cross_attention is not None:
        dx, more, memory = attention_sublayer_backward("cross_attention", dx, saved.cross_attention, notes)
        parameters |= more
    dx, more, _ = attention_sublayer_backward("self_attention", dx, saved.self_attention, notes)
    return LayerGradients(dx, parameters | more, memory)


def attention_sublayer(
    part: str,
    x: np.ndarray,
    memory: np.ndarray | None,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, AttentionSubLayerSaved]:
    """Apply attention with the residual connection and the layer norm.

    Args:
        part: "self_attention" or "cross_attention".
        x: residual stream, [B, T, D].
        memory: encoder output, [B, S, D]; None for self-attention.
        parameters: the layer's parameters, by their names in a checkpoint.
        config: model configuration.
        allowed: attention mask, bool; None allows everything.
        notes: receives the intermediate results.

    Returns:
        Residual stream after the sub-layer, [B, T, D], and the values that the backward pass needs.
    """
    notes, norm = notes.of(part), select(parameters, f"{part}_residual")
    relative = relative_positions(config, x.shape[1]) if memory is None else NO_POSITIONS
    attention_input, read_saved = read(x, norm, config.norm, notes)
    y, attention_saved = multi_head_attention(
        attention_input,
        attention_input if memory is None else memory,
        select(parameters, part),
        config.heads,
        allowed,
        notes,
        relative,
    )
    after, write_saved = write(x, y, norm, config.norm, notes)
    return after, AttentionSubLayerSaved(read_saved, attention_saved, write_saved)


def attention_sublayer_backward(
    part: str, grad: np.ndarray, saved: AttentionSubLayerSaved, notes: Notes
) -> LayerGradients:
    """Return the sub-layer's gradients; dx is a sum over two paths, the residual connection and attention."""
    notes = notes.of(part)
    write_gradients = write_backward(grad, saved.write, notes)
    through, memory, parameters = multi_head_attention_backward(write_gradients.y, saved.attention, notes)
    if part == "self_attention":
        # Queries, keys and values are computed from the same vectors, so their gradients add up.
        through, memory = through + memory, None
    read_gradients = read_backward(through, saved.read, notes)
    return LayerGradients(
        write_gradients.x + read_gradients.x,
        {
            **prefix(part, parameters),
            **prefix(f"{part}_residual", {**write_gradients.parameters, **read_gradients.parameters}),
        },
        memory,
    )


def feed_forward_sublayer(
    x: np.ndarray, parameters: Mapping[str, np.ndarray], config: TransformerConfig, notes: Notes
) -> tuple[np.ndarray, FeedForwardSubLayerSaved]:
    """Apply the feed-forward network with the residual connection and the layer norm to x, [B, N, D].

    Returns:
        Residual stream after the sub-layer, [B, N, D], and the values that the backward pass needs.
    """
    notes, norm = notes.of("feed_forward"), select(parameters, "feed_forward_residual")
    network_input, read_saved = read(x, norm, config.norm, notes)
    y, network_saved = feed_forward(network_input, select(parameters, "feed_forward"), config.activation, notes)
    after, write_saved = write(x, y, norm, config.norm, notes)
    return after, FeedForwardSubLayerSaved(read_saved, network_saved, write_saved)


def feed_forward_sublayer_backward(grad: np.ndarray, saved: FeedForwardSubLayerSaved, notes: Notes) -> LayerGradients:
    """Return the sub-layer's gradients; dx is a sum over two paths, the residual connection and the network."""
    notes = notes.of("feed_forward")
    write_gradients = write_backward(grad, saved.write, notes)
    network = feed_forward_backward(write_gradients.y, saved.network, notes)
    read_gradients = read_backward(network.x, saved.read, notes)
    return LayerGradients(
        write_gradients.x + read_gradients.x,
        {
            **prefix("feed_forward", network.parameters),
            **prefix("feed_forward_residual", {**write_gradients.parameters, **read_gradients.parameters}),
        },
    )
