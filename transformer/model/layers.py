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
from transformer.model.edits import NO_EDITS, LayerEdits, StreamEdit
from transformer.model.fast.dropout import dropout
from transformer.model.kv_cache import KeysAndValues
from transformer.model.positions import RelativePositions
from transformer.model.recorder import Recorder
from transformer.values.kinds import Stack

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
        record: receives each layer's tensors.
    """

    allowed: Tensor | None = None
    source_allowed: Tensor | None = None
    relative: RelativePositions | None = None
    record: Recorder | None = None


class FeedForward(nn.Module):
    """Feed-forward network: two linear maps with an activation between, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig, stack: Stack) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.stack = stack

    def forward(self, x: Tensor, record: Recorder | None = None, edit: StreamEdit | None = None) -> Tensor:
        """Apply the network to x [B, T, D]; the output has the same shape."""
        x = self.activation(self.expand(x))  # [B, T, D] -> [B, T, F]
        x = self.contract(x)  # [B, T, F] -> [B, T, D]
        if edit is not None:
            x = edit.feed_forward(x)
        if record is not None:
            record.stream(f"{self.stack}.feed_forward", x)
        return x


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer f, in the order of the configuration.

    Post-norm is norm(x + f(x)) (section 3.1); pre-norm is x + f(norm(x)). A layer writes both as
    `after(x, f(before(x)))`.

    Args:
        config: norm placement, width and dropout.
        stack: the name under which a recorder stores the residual stream.
    """

    def __init__(self, config: TransformerConfig, stack: Stack) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = config.dropout
        self.stack = stack

    def before(self, x: Tensor) -> Tensor:
        """The input of the sub-layer, computed from the stream x [B, T, D]."""
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, y: Tensor, record: Recorder | None = None, edit: StreamEdit | None = None) -> Tensor:
        """Add the sub-layer's output y [B, T, D] to the stream x [B, T, D], normalise it if post-norm, and edit it."""
        x = x + dropout(y, self.dropout, self.training)
        if not self.pre:
            x = self.norm(x)
        if edit is not None:
            x = edit.stream(x)
        if record is not None:
            record.stream(f"{self.stack}.residual", x)
        return x


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, dropout=config.dropout, kind="encoder")
        self.feed_forward = FeedForward(config, "encoder")
        self.self_attention_residual = Residual(config, "encoder")
        self.feed_forward_residual = Residual(config, "encoder")

    def forward(self, x: Tensor, context: LayerContext, edits: LayerEdits = NO_EDITS) -> Tensor:
        """Run the layer on x [B, S, D]; the output has the same shape."""
        allowed, relative, record = context.allowed, context.relative, context.record

        # 1. self-attention
        query, memory = self.self_attention.project(self.self_attention_residual.before(x), relative)
        y = self.self_attention(query, memory, allowed, record, edits.self_attention, relative)
        x = self.self_attention_residual.after(x, y, record)

        # 2. feed-forward
        y = self.feed_forward(self.feed_forward_residual.before(x), record, edits.stream)
        return self.feed_forward_residual.after(x, y, record, edits.stream)


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
        self.feed_forward = FeedForward(config, "decoder")
        self.self_attention_residual = Residual(config, "decoder")
        if crosses:
            self.cross_attention_residual = Residual(config, "decoder")
        self.feed_forward_residual = Residual(config, "decoder")

    def forward(
        self,
        x: Tensor,
        context: LayerContext,
        source: KeysAndValues | None = None,
        past: KeysAndValues | None = None,
        edits: LayerEdits = NO_EDITS,
    ) -> tuple[Tensor, KeysAndValues]:
        """Run the layer on new positions that follow those in `past`.

        Args:
            x: [B, T, D].
            context: inputs that all layers share.
            source: this layer's cross-attention keys and values of the source, [B, H, S, K]; None without a source.
            past: self-attention keys and values of the positions before x, [B, H, P, K].
            edits: changes to this layer.

        Returns:
            The output [B, T, D], and the self-attention keys and values of all positions so far.
        """
        relative, record = context.relative, context.record

        # 1. masked self-attention
        query, target = self.self_attention.project(self.self_attention_residual.before(x), relative)
        if past is not None:
            target = past.append(target)  # [B, H, P, K] and [B, H, T, K] -> [B, H, P + T, K]
        y = self.self_attention(query, target, context.allowed, record, edits.self_attention, relative)
        x = self.self_attention_residual.after(x, y, record)

        # 2. cross-attention
        if source is not None:
            query = self.cross_attention.project_queries(self.cross_attention_residual.before(x))
            y = self.cross_attention(query, source, context.source_allowed, record, edits.cross_attention)
            x = self.cross_attention_residual.after(x, y, record)

        # 3. feed-forward
        y = self.feed_forward(self.feed_forward_residual.before(x), record, edits.stream)
        return self.feed_forward_residual.after(x, y, record, edits.stream), target
