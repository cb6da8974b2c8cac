"""Scaled dot-product attention, and the module that gives each head its own queries, keys and values."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.fast.dropout import dropout as drop
from transformer.model.edits import AttentionEdit
from transformer.model.kv_cache import KeysAndValues
from transformer.model.fast.packing import Linear
from transformer.model.fast.modules import Module
from transformer.model.recorder import Recorder


class Attention(NamedTuple):
    """What one attention computed.

    Attributes:
        scores: Q K^T / sqrt(K), before the mask, [..., T, S]; rows are queries, columns are keys.
        weights: softmax of the allowed scores of each row, before dropout, [..., T, S].
        output: weights times values, [..., T, K].
    """

    scores: Tensor
    weights: Tensor
    output: Tensor


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None, *, dropout: float = 0.0,
    edit: AttentionEdit | None = None,
) -> Attention:
    """softmax(Q K^T / sqrt(K)) V ("Attention Is All You Need", section 3.2.1, equation 1).

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, K].
        allowed: bool, broadcastable to [..., T, S]; True means "may look". None allows everything.
        dropout: rate at which weights are dropped before they multiply the values.
        edit: replaces weights and outputs before they are used.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [..., T, K] x [..., K, S] -> [..., T, S]
    weights = masked_softmax(scores, allowed)
    if edit is not None:
        weights = edit.weights(weights, allowed)
    output = drop(weights, dropout) @ value  # [..., T, S] x [..., S, K] -> [..., T, K]
    return Attention(scores, weights, output if edit is None else edit.output(output))


def masked_softmax(scores: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Softmax of each row over its allowed cells.

    Args:
        scores: [..., T, S].
        allowed: bool, broadcastable to `scores`; True means "may look". None allows everything.

    Returns:
        Weights [..., T, S]: every row sums to 1 and masked cells are exactly 0. A row without an allowed cell is all 0
        rather than not-a-number.
    """
    if allowed is None:
        return scores.softmax(dim=-1)
    # The lowest finite number instead of minus infinity: a row without any allowed key then has a defined
    # softmax, and the second fill turns it, and every masked cell of the other rows, into exact zeros.
    blocked = ~allowed
    weights = scores.masked_fill(blocked, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(blocked, 0.0)


class MultiHeadAttention(Module):
    """Heads that attend side by side ("Attention Is All You Need", section 3.2.2).

    Projects to queries, keys and values, splits them into heads, and joins the heads' outputs. Projection and
    attention are separate calls, so that keys and values can be cached between decoding steps.

    Args:
        d_model: width D.
        heads: number of heads H.
        dropout: rate on the attention weights, in training.
        kind: "encoder", "decoder" or "cross"; the name under which a recorder stores this layer's tensors.
    """

    def __init__(self, d_model: int, heads: int, *, dropout: float, kind: str) -> None:
        super().__init__()
        self.heads = heads
        self.width = d_model // heads
        self.dropout = dropout
        self.kind = kind
        # One matrix for queries, keys and values: self-attention then needs one product instead of three.
        self.in_projection = Linear(d_model, 3 * d_model, split=d_model)
        self.out_projection = Linear(d_model, d_model)

    def project(self, x: Tensor) -> tuple[Tensor, KeysAndValues]:
        """Queries, and keys and values, of the same positions [B, T, D]; each is [B, H, T, K]."""
        # [B, 3H, T, K] -> [B, H, T, K] and [B, 2H, T, K]
        query, memory = self.split_heads(self.in_projection(x)).split_with_sizes((self.heads, 2 * self.heads), dim=1)
        return query, KeysAndValues(memory)

    def project_queries(self, x: Tensor) -> Tensor:
        """Queries [B, H, T, K] of x [B, T, D]."""
        return self.split_heads(self.in_projection.before_split(x))

    def project_keys_and_values(self, x: Tensor) -> KeysAndValues:
        """Keys and values [B, H, S, K] of x [B, S, D]."""
        return KeysAndValues(self.split_heads(self.in_projection.after_split(x)))

    def forward(
        self,
        query: Tensor,
        memory: KeysAndValues,
        allowed: Tensor | None,
        record: Recorder | None = None,
        edit: AttentionEdit | None = None,
    ) -> Tensor:
        """Attend head by head, join the heads and project.

        Args:
            query: [B, H, T, K].
            memory: keys and values [B, H, S, K].
            allowed: bool, broadcastable to [B, H, T, S]; True means "may look".
            record: receives the queries, keys, values, scores, weights and head outputs of this call.
            edit: what this call does differently; it acts on each head before the heads are joined, because
                afterwards the output projection has mixed them.

        Returns:
            [B, T, D].
        """
        rate = self.dropout if self.training else 0.0
        keys, values = memory.joined.chunk(2, dim=1)
        # On a CPU the backward pass of torch's fused attention takes longer than everything around it.
        written_out = record is not None or (self.training and query.device.type == "cpu")
        if written_out or (edit is not None and edit.changes_weights):
            attention = scaled_dot_product_attention(query, keys, values, allowed, dropout=rate, edit=edit)
            heads = attention.output
            if record is not None:
                record.attention(
                    self.kind, queries=query, keys=keys, values=values, scores=attention.scores,
                    weights=attention.weights, outputs=heads,
                )
        else:
            # The same by torch's fused kernel, which has no scores and weights to show or change.
            heads = F.scaled_dot_product_attention(query, keys, values, allowed, dropout_p=rate)
            if edit is not None:
                heads = edit.output(heads)
        if heads.shape[2] == 1:
            return self.out_projection(heads.reshape(heads.shape[0], 1, -1))  # [B, H, 1, K] -> [B, 1, D]
        return self.out_projection(heads.transpose(1, 2).flatten(2))  # [B, H, T, K] -> [B, T, H, K] -> [B, T, D]

    def split_heads(self, x: Tensor) -> Tensor:
        """What N projections side by side, x [B, T, N D], are to the heads of each, [B, N H, T, K]."""
        batch, positions, numbers = x.shape
        if positions == 1:  # nothing to change places with
            return x.view(batch, numbers // self.width, 1, self.width)
        x = x.view(batch, positions, numbers // self.width, self.width)  # [B, T, N D] -> [B, T, N H, K]
        return x.transpose(1, 2)  # -> [B, N H, T, K]
