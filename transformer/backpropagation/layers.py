"""Encoder and decoder layers, forward and backward ("Attention Is All You Need", section 3.1)."""

from __future__ import annotations

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


class EncoderLayerSaved(NamedTuple):
    self_attention: AttentionSubLayerSaved
    feed_forward: FeedForwardSubLayerSaved


class DecoderLayerSaved(NamedTuple):
    self_attention: AttentionSubLayerSaved
    cross_attention: AttentionSubLayerSaved
    feed_forward: FeedForwardSubLayerSaved


class LayerGradients(NamedTuple):
    """Gradient of the input, dx [B, N, D], and gradients of the parameters."""

    x: np.ndarray
    parameters: dict[str, np.ndarray]


class CrossGradients(NamedTuple):
    """Gradients of the input, dx [B, T, D], of the encoder output, dmemory [B, S, D], and of the parameters."""

    x: np.ndarray
    memory: np.ndarray
    parameters: dict[str, np.ndarray]


def encoder_layer(
    x: np.ndarray,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, EncoderLayerSaved]:
    """Apply self-attention, then the feed-forward network, [B, S, D] to [B, S, D].

    Args:
        x: input, [B, S, D].
        parameters: the layer's parameters, by their names in a checkpoint.
        config: model configuration.
        allowed: bool, broadcastable to [B, H, S, S], True where a query may look at a key; None allows everything.
        notes: receives the intermediate results.
    """
    x, self_attention = attention_sublayer("self_attention", x, None, parameters, config, allowed, notes)
    x, network = feed_forward_sublayer(x, parameters, config, notes)
    return x, EncoderLayerSaved(self_attention, network)


def encoder_layer_backward(grad: np.ndarray, saved: EncoderLayerSaved, notes: Notes) -> LayerGradients:
    """Apply the sub-layers' backward steps in reverse order, given the gradient of the output, [B, S, D]."""
    network = feed_forward_sublayer_backward(grad, saved.feed_forward, notes)
    attention = attention_sublayer_backward("self_attention", network.x, saved.self_attention, notes)
    return LayerGradients(attention.x, {**attention.parameters, **network.parameters})


def decoder_layer(
    x: np.ndarray,
    memory: np.ndarray,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    source_allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, DecoderLayerSaved]:
    """Apply masked self-attention, cross-attention and the feed-forward network, [B, T, D] to [B, T, D].

    Args:
        x: input, [B, T, D].
        memory: encoder output, [B, S, D].
        parameters: the layer's parameters, by their names in a checkpoint.
        config: model configuration.
        allowed: self-attention mask, bool, broadcastable to [B, H, T, T].
        source_allowed: cross-attention mask, bool, broadcastable to [B, H, T, S].
        notes: receives the intermediate results.
    """
    x, self_attention = attention_sublayer("self_attention", x, None, parameters, config, allowed, notes)
    x, cross_attention = attention_sublayer("cross_attention", x, memory, parameters, config, source_allowed, notes)
    x, network = feed_forward_sublayer(x, parameters, config, notes)
    return x, DecoderLayerSaved(self_attention, cross_attention, network)


def decoder_layer_backward(grad: np.ndarray, saved: DecoderLayerSaved, notes: Notes) -> CrossGradients:
    """Apply the sub-layers' backward steps in reverse order, given the gradient of the output, [B, T, D]."""
    network = feed_forward_sublayer_backward(grad, saved.feed_forward, notes)
    cross = attention_sublayer_backward("cross_attention", network.x, saved.cross_attention, notes)
    attention = attention_sublayer_backward("self_attention", cross.x, saved.self_attention, notes)
    return CrossGradients(attention.x, cross.memory, {**attention.parameters, **cross.parameters, **network.parameters})


def attention_sublayer(
    part: str,
    x: np.ndarray,
    memory: np.ndarray | None,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, AttentionSubLayerSaved]:
    """Apply attention with the residual connection and the layer norm, [B, T, D] to [B, T, D].

    Args:
        part: "self_attention" or "cross_attention".
        x: residual stream, [B, T, D].
        memory: encoder output, [B, S, D]; None for self-attention.
        parameters: the layer's parameters, by their names in a checkpoint.
        config: model configuration.
        allowed: attention mask, bool; None allows everything.
        notes: receives the intermediate results.
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
) -> CrossGradients:
    """Compute the gradients; the gradient of x is the sum over two paths, past the sub-layer and through it."""
    notes = notes.of(part)
    write_gradients = write_backward(grad, saved.write, notes)
    attention = multi_head_attention_backward(write_gradients.y, saved.attention, notes)
    # In self-attention, queries, keys and values are computed from the same vectors.
    through = attention.x + attention.memory if part == "self_attention" else attention.x
    read_gradients = read_backward(through, saved.read, notes)
    return CrossGradients(
        write_gradients.x + read_gradients.x,
        attention.memory,
        {
            **prefix(part, attention.parameters),
            **prefix(f"{part}_residual", {**write_gradients.parameters, **read_gradients.parameters}),
        },
    )


def feed_forward_sublayer(
    x: np.ndarray, parameters: Mapping[str, np.ndarray], config: TransformerConfig, notes: Notes
) -> tuple[np.ndarray, FeedForwardSubLayerSaved]:
    """Apply the feed-forward network with the residual connection and the layer norm, [B, N, D] to [B, N, D]."""
    notes, norm = notes.of("feed_forward"), select(parameters, "feed_forward_residual")
    network_input, read_saved = read(x, norm, config.norm, notes)
    y, network_saved = feed_forward(network_input, select(parameters, "feed_forward"), config.activation, notes)
    after, write_saved = write(x, y, norm, config.norm, notes)
    return after, FeedForwardSubLayerSaved(read_saved, network_saved, write_saved)


def feed_forward_sublayer_backward(grad: np.ndarray, saved: FeedForwardSubLayerSaved, notes: Notes) -> LayerGradients:
    """Compute the gradients; the gradient of x adds up the residual path and the path through the network."""
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
