"""The layers of the two stacks: sub-layers, each with its residual connection and layer norm.

Sections are those of "Attention Is All You Need".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.attention import MultiHeadAttention
from transformer.model.attention_variants import masked_self_attention
from transformer.model.fast.dropout import dropout
from transformer.model.hooks import NO_HOOKS, Hooks
from transformer.model.kv_cache import LayerCache
from transformer.model.positions import RelativePositions

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


@dataclass(frozen=True)
class LayerContext:
    """Inputs that all layers of a stack share in one run.

    Attributes:
        allowed: mask of self-attention, bool, broadcastable to [B, H, T, P + T] for T positions after P past ones;
            True means "may look". None allows everything. Local attention has a mask within a block instead, and
            compressed attention one over its merged positions.
        source_allowed: the same for cross-attention, broadcastable to [B, H, T, S].
        relative: the effect of positions in self-attention.
    """

    allowed: Tensor | None = None
    source_allowed: Tensor | None = None
    relative: RelativePositions | None = None


class FeedForward(nn.Module):
    """Feed-forward network: two linear maps with an activation between, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Apply the network to x [B, T, D]; the output has the same shape."""
        x = self.activation(self.expand(x))  # [B, T, D] -> [B, T, F]
        return self.contract(x)  # [B, T, F] -> [B, T, D]


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer f, in the order of the configuration.

    Post-norm is norm(x + f(x)) (section 3.1); pre-norm is x + f(norm(x)).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = config.dropout

    def add(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run a sub-layer, which keeps the shape, on the residual stream x [B, T, D], and return the new stream.

        A method and not `forward`, because torch's call of a module takes longer than this one's own work.
        """
        if self.pre:
            return x + dropout(sublayer(self.norm(x)), self.dropout, self.training)
        return self.norm(x + dropout(sublayer(x), self.dropout, self.training))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, dropout=config.dropout, kind="encoder")
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, context: LayerContext, hooks: Hooks = NO_HOOKS) -> Tensor:
        """Run the layer on x [B, S, D]; the output has the same shape."""
        # 1. self-attention
        x = self.self_attention_residual.add(
            x, lambda x: self.self_attention(x, context.allowed, relative=context.relative, hooks=hooks)
        )
        x = hooks.at("residual_mid", x)

        # 2. feed-forward
        x = self.feed_forward_residual.add(x, lambda x: hooks.at("feed_forward", self.feed_forward(x)))
        return hooks.at("residual", x)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the source, then the feed-forward network (section 3.1, "Decoder").

    Without an encoder there is no cross-attention.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        crosses = config.encoder_layers > 0
        self.self_attention = masked_self_attention(config)
        if crosses:
            self.cross_attention = MultiHeadAttention(
                config.d_model, config.heads, dropout=config.dropout, kind="cross"
            )
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        if crosses:
            self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, context: LayerContext, cache: LayerCache, hooks: Hooks = NO_HOOKS) -> Tensor:
        """Run the layer on new positions that follow those in the cache.

        Args:
            x: [B, T, D].
            context: inputs that all layers share.
            cache: this layer's keys and values of the source and of earlier positions; receives those of x.
            hooks: change and record the values of this layer.

        Returns:
            The output [B, T, D].
        """
        # 1. masked self-attention
        x = self.self_attention_residual.add(
            x, lambda x: self.self_attention(x, context.allowed, cache=cache, relative=context.relative, hooks=hooks)
        )
        x = hooks.at("residual_mid", x)

        # 2. cross-attention
        if cache.source is not None:
            x = self.cross_attention_residual.add(
                x, lambda x: self.cross_attention(x, context.source_allowed, source=cache.source, hooks=hooks)
            )
            x = hooks.at("residual_mid", x)

        # 3. feed-forward
        x = self.feed_forward_residual.add(x, lambda x: hooks.at("feed_forward", self.feed_forward(x)))
        return hooks.at("residual", x)
