"""The layers of the two stacks: sub-layers, each with its residual connection and layer norm."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.attention import MultiHeadAttention
from transformer.model.blocks import Blocks
from transformer.model.compression import Compression
from transformer.model.edits import AttentionEdit, StreamEdit
from transformer.model.fast.dropout import dropout
from transformer.model.kv_cache import KeysAndValues
from transformer.model.positions import RelativePositions
from transformer.model.recorder import Recorder

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """Two linear maps with an activation between, the same at every position (section 3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        x = self.expand(x)  # [B, T, D] -> [B, T, F]
        return self.contract(self.activation(x))  # [B, T, F] -> [B, T, D]


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer f, in the order of the configuration.

    Post-norm is norm(x + f(x)) (section 3.1); pre-norm is x + f(norm(x)). `read` gives the input of f, `write` adds its
    output.

    Args:
        config: norm placement, width and dropout.
        stack: "encoder" or "decoder"; the name under which a recorder stores the residual stream.
    """

    def __init__(self, config: TransformerConfig, stack: str) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = config.dropout
        self.stack = stack

    def read(self, x: Tensor) -> Tensor:
        """The input of the sub-layer, from the stream x [B, T, D]."""
        return self.norm(x) if self.pre else x

    def write(self, x: Tensor, y: Tensor, record: Recorder | None = None, edit: StreamEdit | None = None) -> Tensor:
        """The stream x [B, T, D] after the sub-layer wrote y [B, T, D] to it, and after an edit."""
        x = x + dropout(y, self.dropout, self.training)
        if not self.pre:
            x = self.norm(x)
        if edit is not None:
            x = edit.stream(x)
        if record is not None:
            record.stream(f"{self.stack}.residual", x)
        return x

    def feed(
        self, x: Tensor, network: FeedForward, record: Recorder | None = None, edit: StreamEdit | None = None
    ) -> Tensor:
        """The stream x [B, T, D] after the layer's feed-forward network."""
        y = network(self.read(x))
        if edit is not None:
            y = edit.feed_forward(y)
        if record is not None:
            record.stream(f"{self.stack}.feed_forward", y)
        return self.write(x, y, record, edit)


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network (section 3.1, "Encoder")."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, dropout=config.dropout, kind="encoder")
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config, "encoder")
        self.feed_forward_residual = Residual(config, "encoder")

    def forward(
        self,
        x: Tensor,
        allowed: Tensor | None,
        record: Recorder | None = None,
        edit: AttentionEdit | None = None,
        relative: RelativePositions | None = None,
        stream_edit: StreamEdit | None = None,
    ) -> Tensor:
        """[B, S, D] to [B, S, D]; `allowed` is broadcastable to [B, H, S, S]."""
        # 1. self-attention
        query, keys_and_values = self.self_attention.project(self.self_attention_residual.read(x), relative)
        y = self.self_attention(query, keys_and_values, allowed, record, edit, relative)
        x = self.self_attention_residual.write(x, y, record)

        # 2. feed-forward
        return self.feed_forward_residual.feed(x, self.feed_forward, record, stream_edit)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the source, then the feed-forward network (section 3.1, "Decoder").

    Without an encoder there is no cross-attention. With compressed attention, keys and values are cached at full length
    and shortened at every step.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        crosses, compresses = config.encoder_layers > 0, config.attention == "compressed"
        self.self_attention = MultiHeadAttention(config.d_model, config.heads, dropout=config.dropout, kind="decoder")
        if crosses:
            self.cross_attention = MultiHeadAttention(
                config.d_model, config.heads, dropout=config.dropout, kind="cross"
            )
        self.compression = Compression(config.d_model, config.heads, config.stride) if compresses else None
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config, "decoder")
        if crosses:
            self.cross_attention_residual = Residual(config, "decoder")
        self.feed_forward_residual = Residual(config, "decoder")

    def forward(
        self,
        x: Tensor,
        source: KeysAndValues | None,
        allowed: Tensor | None,
        source_allowed: Tensor | None,
        *,
        blocks: Blocks | None = None,
        past: KeysAndValues | None = None,
        record: Recorder | None = None,
        edit: AttentionEdit | None = None,
        source_edit: AttentionEdit | None = None,
        relative: RelativePositions | None = None,
        stream_edit: StreamEdit | None = None,
    ) -> tuple[Tensor, KeysAndValues]:
        """Run the layer on new positions that follow those in `past`.

        Args:
            x: [B, T, D].
            source: this layer's cross-attention keys and values of the source, [B, H, S, K]; None without a source.
            allowed: broadcastable to [B, H, T, P + T] for P past positions.
            source_allowed: broadcastable to [B, H, T, S].
            blocks: those of local attention; `allowed` then applies to a block.
            past: self-attention keys and values of the positions before x, [B, H, P, K].
            record: receives this layer's tensors.
            edit, source_edit: changes to self-attention and to cross-attention.
            relative: the effect of positions in self-attention.
            stream_edit: changes to the feed-forward network's output and to the layer's.

        Returns:
            The output [B, T, D], and the self-attention keys and values of all positions so far.
        """
        # 1. masked self-attention
        query, target = self.self_attention.project(self.self_attention_residual.read(x), relative)
        if past is not None:
            target = past.append(target)  # [B, H, P, K] and [B, H, T, K] -> [B, H, P + T, K]
        if blocks is not None:
            memory = blocks.split_memory(target)
            y = self.self_attention(blocks.split_queries(query), memory, allowed, record, edit, relative)
            y = blocks.join(y)
        else:
            memory = target if self.compression is None else self.compression(target)
            y = self.self_attention(query, memory, allowed, record, edit, relative)
        x = self.self_attention_residual.write(x, y, record)

        # 2. cross-attention
        if source is not None:
            query = self.cross_attention.project_queries(self.cross_attention_residual.read(x))
            y = self.cross_attention(query, source, source_allowed, record, source_edit)
            x = self.cross_attention_residual.write(x, y, record)

        # 3. feed-forward
        return self.feed_forward_residual.feed(x, self.feed_forward, record, stream_edit), target
