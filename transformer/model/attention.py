"""Scaled dot-product attention, and the module that gives each head its own queries, keys and values."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.edits import AttentionEdit
from transformer.model.fast.dropout import dropout as drop
from transformer.model.kv_cache import KeysAndValues
from transformer.model.positions import RelativePositions
from transformer.model.recorder import Recorder


class Attention(NamedTuple):
    """Result of scaled dot-product attention.

    Attributes:
        scores: Q K^T / sqrt(K), with biases and before the mask, [..., T, S]; rows are queries, columns are keys.
        weights: softmax of each row's scores over the allowed cells, before dropout, [..., T, S].
        output: weights times values, [..., T, K].
    """

    scores: Tensor
    weights: Tensor
    output: Tensor


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None = None,
    *,
    dropout: float = 0.0,
    edit: AttentionEdit | None = None,
    relative: RelativePositions | None = None,
) -> Attention:
    """Compute softmax(Q K^T / sqrt(K)) V ("Attention Is All You Need", section 3.2.1, equation 1).

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, K].
        allowed: bool, broadcastable to [..., T, S]; True if the query can see the key. None allows everything.
        dropout: rate at which weights are dropped before they multiply the values.
        edit: replaces weights and outputs before they are used.
        relative: adds biases to the scores.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [..., T, K] x [..., K, S] -> [..., T, S]
    if relative is not None:
        scores = relative.add_biases(scores)
    weights = masked_softmax(scores, allowed)
    if edit is not None:
        weights = edit.weights(weights, allowed)
    output = drop(weights, dropout) @ value  # [..., T, S] x [..., S, K] -> [..., T, K]
    return Attention(scores, weights, output if edit is None else edit.output(output))


def masked_softmax(scores: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Softmax of each row over its allowed cells.

    Args:
        scores: [..., T, S].
        allowed: bool, broadcastable to `scores`; True if the query can see the key. None allows everything.

    Returns:
        Weights [..., T, S]: every row sums to 1 and masked cells are exactly 0. A row without an allowed cell is all 0
        instead of NaN.
    """
    if allowed is None:
        return scores.softmax(dim=-1)
    # Masked scores become the lowest finite number instead of minus infinity, so that the softmax of a row without any
    # allowed key is defined. The second fill turns that row, and every masked cell of the other rows, into exact zeros.
    blocked = ~allowed
    weights = scores.masked_fill(blocked, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(blocked, 0.0)


class MultiHeadAttention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", section 3.2.2).

    It projects its input to queries, keys and values, splits them into heads, and joins the heads' outputs. Projection
    and attention are separate calls, so that keys and values can be cached between decoding steps.

    Args:
        d_model: width D.
        heads: number of heads H.
        dropout: dropout rate of the attention weights in training.
        kind: "encoder", "decoder" or "cross"; the name under which a recorder stores this layer's tensors.
    """

    def __init__(self, d_model: int, heads: int, *, dropout: float, kind: str) -> None:
        super().__init__()
        self.heads = heads
        self.width = d_model // heads
        self.dropout = dropout
        self.kind = kind
        # One matrix projects to queries, keys and values, so that self-attention needs one product instead of three.
        self.in_projection = nn.Linear(d_model, 3 * d_model)
        self.out_projection = nn.Linear(d_model, d_model)
        self.queries, self.keys_and_values = slice(d_model), slice(d_model, None)  # the rows of each

    def project(self, x: Tensor, relative: RelativePositions | None = None) -> tuple[Tensor, KeysAndValues]:
        """Project x [B, T, D] to its queries, and to its keys and values; each is [B, H, T, K].

        Queries and keys are rotated if the model encodes positions by rotation.
        """
        heads = self.split_heads(self.in_projection(x))  # [B, T, D] -> [B, T, 3D] -> [B, 3H, T, K]
        if relative is not None:
            looking, values = heads.split_with_sizes((2 * self.heads, self.heads), dim=1)
            heads = torch.cat((relative.turn(looking), values), dim=1)  # 2H and H of them -> [B, 3H, T, K]
        query, memory = heads.split_with_sizes((self.heads, 2 * self.heads), dim=1)  # -> [B, H, T, K], [B, 2H, T, K]
        return query, KeysAndValues(memory)

    def project_queries(self, x: Tensor) -> Tensor:
        """Project x [B, T, D] to queries [B, H, T, K]."""
        return self.split_heads(F.linear(x, *self.rows(self.queries)))  # [B, T, D] -> [B, T, D] -> [B, H, T, K]

    def project_keys_and_values(self, x: Tensor) -> KeysAndValues:
        """Project x [B, S, D] to keys and values [B, H, S, K]."""
        heads = self.split_heads(F.linear(x, *self.rows(self.keys_and_values)))  # -> [B, S, 2D] -> [B, 2H, S, K]
        return KeysAndValues(heads)

    def forward(
        self,
        query: Tensor,
        memory: KeysAndValues,
        allowed: Tensor | None,
        record: Recorder | None = None,
        edit: AttentionEdit | None = None,
        relative: RelativePositions | None = None,
    ) -> Tensor:
        """Attend with each head, join the outputs of the heads and project them.

        Args:
            query: [B, H, T, K].
            memory: keys and values [B, H, S, K].
            allowed: bool, broadcastable to [B, H, T, S]; True if the query can see the key.
            record: receives the queries, keys, values, scores, weights and head outputs of this call.
            edit: changes to this call. They act on each head before the heads are joined, because the output
                projection mixes the heads.
            relative: the effect of positions in self-attention.

        Returns:
            Output [B, T, D].
        """
        rate = self.dropout if self.training else 0.0
        keys, values = memory.split()  # 2 x [B, H, S, K]
        # On a CPU the backward pass of torch's fused attention takes longer than everything around it.
        written_out = record is not None or relative is not None or (query.requires_grad and query.device.type == "cpu")
        if written_out or (edit is not None and edit.changes_weights):
            scores, weights, heads = scaled_dot_product_attention(
                query, keys, values, allowed, dropout=rate, edit=edit, relative=relative
            )
            if record is not None:
                record.attention(
                    self.kind, queries=query, keys=keys, values=values, scores=scores, weights=weights, outputs=heads
                )
        else:
            # torch's fused kernel computes the same outputs, but returns no scores and weights to show or change.
            heads = F.scaled_dot_product_attention(query, keys, values, allowed, dropout_p=rate)
            if edit is not None:
                heads = edit.output(heads)
        return self.out_projection(self.join_heads(heads))  # [B, H, T, K] -> [B, T, D] -> [B, T, D]

    def split_heads(self, x: Tensor) -> Tensor:
        """Split N concatenated projections, x [B, T, N D], into the heads of each, [B, N H, T, K]."""
        x = x.view(*x.shape[:2], -1, self.width)  # [B, T, N D] -> [B, T, N H, K]
        return x.transpose(1, 2)  # -> [B, N H, T, K]

    def join_heads(self, x: Tensor) -> Tensor:
        """Undo `split_heads` for one projection: reshape x [B, H, T, K] to [B, T, D]."""
        return x.transpose(1, 2).flatten(2)  # [B, H, T, K] -> [B, T, H, K] -> [B, T, D]

    def rows(self, part: slice) -> tuple[Tensor, Tensor]:
        """Weight and bias of those rows of the input projection that `part` selects."""
        return self.in_projection.weight[part], self.in_projection.bias[part]
