"""Scaled dot-product attention, and the module that gives each head its own queries, keys and values."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.cache import KeysAndValues
from transformer.model.dropout import dropout as drop
from transformer.model.linear import Linear
from transformer.model.recorder import Recorder


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Dot products of queries and keys over sqrt(K), before any mask.

    "Attention Is All You Need", section 3.2.1.

    Args:
        query: [..., T, K].
        key: [..., S, K].

    Returns:
        Scores [..., T, S]; rows are queries, columns are keys.
    """
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def attention_weights(scores: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Softmax of each row over the keys that the query may look at.

    Args:
        scores: [..., T, S].
        allowed: bool, broadcastable to `scores`; True means "may look". None allows everything.

    Returns:
        Weights [..., T, S]: every row sums to 1 and masked cells are exactly 0. A row that may look at nothing is
        all 0 rather than not-a-number.
    """
    if allowed is None:
        return scores.softmax(dim=-1)
    # The lowest finite number instead of minus infinity: a row without any allowed key then has a defined
    # softmax, and the second fill turns it, and every masked cell of the other rows, into exact zeros.
    blocked = ~allowed
    weights = scores.masked_fill(blocked, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(blocked, 0.0)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None, *, dropout: float = 0.0
) -> tuple[Tensor, Tensor]:
    """softmax(Q K^T / sqrt(K)) V ("Attention Is All You Need", section 3.2.1, equation 1).

    Args:
        query: [..., T, K].
        key: [..., S, K].
        value: [..., S, K].
        allowed: bool, broadcastable to [..., T, S]; True means "may look".
        dropout: share of weights dropped on the way to the output; the weights returned are those before it.

    Returns:
        The output [..., T, K] and the weights [..., T, S].
    """
    weights = attention_weights(attention_scores(query, key), allowed)
    return drop(weights, dropout) @ value, weights


class MultiHeadAttention(nn.Module):
    """Heads that attend side by side ("Attention Is All You Need", section 3.2.2).

    Projects to queries, keys and values, splits them into heads, and joins the heads' outputs. Projection and
    attention are separate calls so that keys and values can be kept from one decoding step to the next.

    Args:
        d_model: width D.
        heads: number of heads H.
        dropout: rate on the attention weights, in training.
        kind: "encoder", "decoder" or "cross"; the name under which a recorder keeps this layer's tensors.
    """

    def __init__(self, d_model: int, heads: int, *, dropout: float, kind: str) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.kind = kind
        # One matrix for queries, keys and values: self-attention then needs one product instead of three.
        self.in_projection = Linear(d_model, 3 * d_model, cut=d_model)
        self.out_projection = Linear(d_model, d_model)

    def project(self, x: Tensor) -> tuple[Tensor, KeysAndValues]:
        """Queries, and keys and values, of the same positions [B, T, D]; each is [B, H, T, K]."""
        query, key, value = self.in_projection(x).chunk(3, dim=-1)
        return self._split(query), KeysAndValues(self._split(key), self._split(value))

    def project_queries(self, x: Tensor) -> Tensor:
        """Queries [B, H, T, K] of x [B, T, D]."""
        return self._split(self.in_projection.before_cut(x))

    def project_keys_and_values(self, x: Tensor) -> KeysAndValues:
        """Keys and values [B, H, S, K] of x [B, S, D]."""
        key, value = self.in_projection.behind_cut(x).chunk(2, dim=-1)
        return KeysAndValues(self._split(key), self._split(value))

    def forward(
        self, query: Tensor, memory: KeysAndValues, allowed: Tensor | None, record: Recorder | None = None
    ) -> Tensor:
        """Let every query look at the keys, head by head, and join what they saw.

        Args:
            query: [B, H, T, K].
            memory: keys and values [B, H, S, K].
            allowed: bool, broadcastable to [B, H, T, S]; True means "may look".
            record: receives the queries, keys, values, scores, weights and head outputs of this call.

        Returns:
            [B, T, D].
        """
        key, value = memory.keys, memory.values
        dropout = self.dropout if self.training else 0.0
        if record is not None:
            scores = attention_scores(query, key)
            weights = attention_weights(scores, allowed)
            output = drop(weights, dropout) @ value
            record.attention(
                self.kind, queries=query, keys=key, values=value, weights=weights, outputs=output, scores=scores,
            )
        elif self.training and query.device.type == "cpu":
            # On a CPU the backward pass of torch's fused attention takes longer than everything around it.
            output, _ = scaled_dot_product_attention(query, key, value, allowed, dropout=dropout)
        else:
            output = F.scaled_dot_product_attention(query, key, value, allowed, dropout_p=dropout)
        return self.out_projection(output.transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        """[B, T, D] to [B, H, T, K]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
