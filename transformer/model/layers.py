"""The layers of the two stacks: sub-layers, each with its residual connection and layer norm."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.attention import MultiHeadAttention
from transformer.model.cache import KeysAndValues
from transformer.model.dropout import Dropout
from transformer.model.linear import Linear
from transformer.model.recorder import Recorder

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = Linear(config.d_model, config.d_ff)
        self.contract = Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.contract(self.activation(self.expand(x)))


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer, in the order of the configuration.

    Post-norm is norm(x + f(x)) (section 3.1); pre-norm is x + f(norm(x)).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            config.d_model, config.heads, dropout=config.dropout, kind="encoder"
        )
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, allowed: Tensor | None, record: Recorder | None = None) -> Tensor:
        """[B, S, D] to [B, S, D]; `allowed` is broadcastable to [B, H, S, S]."""

        def look_around(x: Tensor) -> Tensor:
            return self.self_attention(*self.self_attention.project(x), allowed, record)

        x = self.self_attention_residual(x, look_around)
        if record is not None:
            record.residual("encoder", x)
        x = self.feed_forward_residual(x, self.feed_forward)
        if record is not None:
            record.residual("encoder", x)
        return x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the source, then the feed-forward network (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(
            config.d_model, config.heads, dropout=config.dropout, kind="decoder"
        )
        self.cross_attention = MultiHeadAttention(
            config.d_model, config.heads, dropout=config.dropout, kind="cross"
        )
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        source: KeysAndValues,
        allowed: Tensor | None,
        source_allowed: Tensor | None,
        *,
        past: KeysAndValues | None = None,
        record: Recorder | None = None,
    ) -> tuple[Tensor, KeysAndValues]:
        """Run the layer on new positions, behind those that `past` holds.

        Args:
            x: [B, T, D].
            source: this layer's cross-attention keys and values of the source, [B, H, S, K].
            allowed: broadcastable to [B, H, T, P + T] for P past positions.
            source_allowed: broadcastable to [B, H, T, S].
            past: self-attention keys and values of the positions before x, [B, H, P, K].
            record: receives this layer's tensors.

        Returns:
            The output [B, T, D], and the self-attention keys and values of all positions so far.
        """
        seen: KeysAndValues

        def look_back(x: Tensor) -> Tensor:
            nonlocal seen
            query, seen = self.self_attention.project(x)
            if past is not None:
                seen = past.followed_by(seen)
            return self.self_attention(query, seen, allowed, record)

        def look_at_source(x: Tensor) -> Tensor:
            query = self.cross_attention.project_queries(x)
            return self.cross_attention(query, source, source_allowed, record)

        for residual, sublayer in (
            (self.self_attention_residual, look_back),
            (self.cross_attention_residual, look_at_source),
            (self.feed_forward_residual, self.feed_forward),
        ):
            x = residual(x, sublayer)
            if record is not None:
                record.residual("decoder", x)
        return x, seen
