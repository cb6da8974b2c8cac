"""Encoder and decoder layers, and their sub-layers, each with a residual connection and layer norm.

Section numbers refer to "Attention Is All You Need".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.attention import NO_CONTEXT, AttentionContext, CrossAttention, SelfAttention
from transformer.model.attention_variants import masked_self_attention
from transformer.model.fast.dropout import dropout
from transformer.model.hooks import NO_HOOKS, Hooks
from transformer.model.kv_cache import LayerCache

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class LayerContext(NamedTuple):
    """The inputs of a layer, apart from the residual stream.

    Attributes:
        self_attention, cross_attention: mask and positions of each attention sub-layer.
        hooks: hooks that change and record the layer's values.
    """

    self_attention: AttentionContext = NO_CONTEXT
    cross_attention: AttentionContext = NO_CONTEXT
    hooks: Hooks = NO_HOOKS

    def of_layer(self, layer: int) -> LayerContext:
        """Return the context for one layer of the stack, with that layer's hooks."""
        if self.hooks is NO_HOOKS:
            return self
        hooks = self.hooks.of_layer(layer)
        return LayerContext(
            self.self_attention._replace(hooks=hooks),
            self.cross_attention._replace(hooks=hooks.of_attention("cross")),
            hooks,
        )


class FeedForward(nn.Module):
    """Feed-forward network (section 3.3): the same linear map, activation and second linear map at every position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor, hooks: Hooks = NO_HOOKS) -> Tensor:
        """Apply the network to x [B, T, D]; the output has the same shape."""
        x = hooks.at("feed_forward_pre_activation", self.expand(x))  # [B, T, D] -> [B, T, F]
        x = hooks.at("feed_forward_hidden", self.activation(x))
        return self.contract(x)  # [B, T, F] -> [B, T, D]


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer f, in the order that `config.norm` sets.

    Post-norm is norm(x + f(x)) ("Attention Is All You Need", section 3.1); pre-norm is x + f(norm(x)).

    Args:
        config: configuration of the model.
        name: site name of the sub-layer's output, such as "self_attention".
    """

    def __init__(self, config: TransformerConfig, name: str) -> None:
        super().__init__()
        self.input_site, self.output_site = f"{name}_input", name
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = config.dropout

    def read(self, x: Tensor, hooks: Hooks) -> Tensor:
        """Return the sub-layer's input for the residual stream x [B, T, D].

        The method is not called `forward`, because torch's overhead per module call would exceed the method's own work.
        """
        return hooks.at(self.input_site, self.norm(x) if self.pre else x)

    def write(self, x: Tensor, y: Tensor, hooks: Hooks) -> Tensor:
        """Add the sub-layer's output y to the residual stream x, both [B, T, D]; with post-norm, normalise the sum."""
        x = x + dropout(hooks.at(self.output_site, y), self.dropout, self.training)
        return x if self.pre else self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network ("Attention Is All You Need", section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.d_model, config.heads, dropout=config.dropout)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config, "self_attention")
        self.feed_forward_residual = Residual(config, "feed_forward")

    def forward(self, x: Tensor, context: LayerContext) -> Tensor:
        """Run the layer on x [B, S, D]; the output has the same shape."""
        hooks = context.hooks

        # 1. self-attention
        y = self.self_attention(self.self_attention_residual.read(x, hooks), context.self_attention)
        x = self.self_attention_residual.write(x, y, hooks)
        x = hooks.at("after_self_attention", x)

        # 2. feed-forward
        y = self.feed_forward(self.feed_forward_residual.read(x, hooks), hooks)
        x = self.feed_forward_residual.write(x, y, hooks)
        return hooks.at("residual", x)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the source, then the feed-forward network (section 3.1, "Decoder").

    Without an encoder, the layer has no cross-attention.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        has_encoder = config.encoder_layers > 0
        self.self_attention = masked_self_attention(config)
        if has_encoder:
            self.cross_attention = CrossAttention(config.d_model, config.heads, dropout=config.dropout)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config, "self_attention")
        if has_encoder:
            self.cross_attention_residual = Residual(config, "cross_attention")
        self.feed_forward_residual = Residual(config, "feed_forward")

    def forward(self, x: Tensor, context: LayerContext, cache: LayerCache) -> Tensor:
        """Run the layer on new target positions x [B, T, D]; the output has the same shape.

        Args:
            x: [B, T, D].
            context: masks, positions and hooks.
            cache: keys and values of the source and of earlier target positions, to which those of x are added.
        """
        hooks = context.hooks

        # 1. masked self-attention
        y = self.self_attention(self.self_attention_residual.read(x, hooks), context.self_attention, cache)
        x = self.self_attention_residual.write(x, y, hooks)
        x = hooks.at("after_self_attention", x)

        # 2. cross-attention
        if cache.memory is not None:
            queries = self.cross_attention_residual.read(x, hooks)
            y = self.cross_attention(queries, cache.memory, context.cross_attention)
            x = self.cross_attention_residual.write(x, y, hooks)
            x = hooks.at("after_cross_attention", x)

        # 3. feed-forward
        y = self.feed_forward(self.feed_forward_residual.read(x, hooks), hooks)
        x = self.feed_forward_residual.write(x, y, hooks)
        return hooks.at("residual", x)
