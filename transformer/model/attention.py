"""Scaled dot-product attention, multi-head self-attention and cross-attention."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.fast.dropout import dropout as drop
from transformer.model.hooks import NO_HOOKS, Hooks
from transformer.model.kv_cache import KeysAndValues, LayerCache
from transformer.model.positions import RelativePositions


class Attention(NamedTuple):
    """Result of scaled dot-product attention.

    Attributes:
        scores: queries times keys divided by sqrt(K), with position biases, before the mask, [..., T, S]. Rows are
            queries, and columns are keys.
        weights: softmax of each row's scores over the allowed cells, before dropout, [..., T, S].
        output: the weights, after dropout, times the values, [..., T, K].
    """

    scores: Tensor
    weights: Tensor
    output: Tensor


class AttentionContext(NamedTuple):
    """The inputs of one attention layer, apart from queries, keys and values.

    Attributes:
        mask: bool, broadcastable to [B, H, T, S]; True if the query can see the key. None allows everything. In
            local attention, all blocks use the same mask; in compressed attention, its columns are merged keys.
        relative: the positional encoding's effect on queries, keys and scores; None for no effect.
        hooks: hooks that change and record the layer's values.
    """

    mask: Tensor | None = None
    relative: RelativePositions | None = None
    hooks: Hooks = NO_HOOKS


NO_CONTEXT = AttentionContext()


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    dropout: float = 0.0,
    relative: RelativePositions | None = None,
    hooks: Hooks = NO_HOOKS,
) -> Attention:
    """Compute softmax(Q K^T / sqrt(d_k)) V ("Attention Is All You Need", section 3.2.1, equation 1).

    In the shapes below, the head width d_k is called K.

    Args:
        query: queries Q, [..., T, K].
        key: keys K, [..., S, K].
        value: values V, [..., S, K].
        mask: bool, broadcastable to [..., T, S]; True if the query can see the key. None allows everything.
        dropout: dropout rate of the weights, applied before they multiply the values.
        relative: relative positions, which add biases to the scores.
        hooks: hooks that change and record scores, weights and output.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # [..., T, K] x [..., K, S] -> [..., T, S]
    if relative is not None:
        scores = relative.add_biases(scores)
    scores = hooks.at("scores", scores)
    weights = hooks.at("weights", masked_softmax(scores, mask), mask)
    output = hooks.at("outputs", drop(weights, dropout) @ value)  # [..., T, S] x [..., S, K] -> [..., T, K]
    return Attention(scores, weights, output)


def attend(query: Tensor, key: Tensor, value: Tensor, context: AttentionContext, *, dropout: float) -> Tensor:
    """Return the output of `scaled_dot_product_attention`, using torch's fused kernel where it works and is faster.

    The kernel gives no access to scores and weights, so it is not used if they are changed or recorded. Nor is it used
    with relative positions, or for training on a CPU, where its backward pass is slower.
    """
    mask, relative, hooks = context
    query, key, value = hooks.at("queries", query), hooks.at("keys", key), hooks.at("values", value)
    trained_on_cpu = query.requires_grad and query.device.type == "cpu"
    if trained_on_cpu or relative is not None or hooks.need_weights:
        return scaled_dot_product_attention(
            query, key, value, mask, dropout=dropout, relative=relative, hooks=hooks
        ).output
    return hooks.at("outputs", F.scaled_dot_product_attention(query, key, value, mask, dropout_p=dropout))


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the softmax of each row of scores over its allowed cells.

    Args:
        scores: [..., T, S].
        mask: bool, broadcastable to `scores`; True if the query can see the key. None allows everything.

    Returns:
        Weights [..., T, S]: masked cells are exactly 0, and every row with an allowed cell sums to 1. A row without an
        allowed cell is all 0 instead of NaN.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    # Masked scores become the lowest finite number instead of minus infinity, so that the softmax of a row without any
    # allowed key is defined. The second fill turns that row, and every masked cell of the other rows, into exact zeros.
    blocked = ~mask
    weights = scores.masked_fill(blocked, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(blocked, 0.0)


class MultiHeadAttention(nn.Module):
    """Base class of self-attention and cross-attention ("Attention Is All You Need", section 3.2.2).

    Each head has its own projections to queries, keys and values.

    Args:
        d_model: width D.
        heads: number of heads H.
        dropout: dropout rate of the attention weights in training.
    """

    def __init__(self, d_model: int, heads: int, *, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.width = d_model // heads
        self.dropout = dropout
        # One matrix projects to queries, keys and values, so that self-attention needs one product instead of three.
        self.in_projection = nn.Linear(d_model, 3 * d_model)
        self.out_projection = nn.Linear(d_model, d_model)

    def attend_and_join(
        self, query: Tensor, keys_and_values: KeysAndValues, context: AttentionContext = NO_CONTEXT
    ) -> Tensor:
        """Compute attention in each head, join the heads' outputs and project them.

        Args:
            query: [B, H, T, K].
            keys_and_values: keys and values, [B, H, S, K] each.
            context: mask, positions and hooks.

        Returns:
            Output [B, T, D].
        """
        keys, values = keys_and_values.split()  # 2 x [B, H, S, K]
        heads = attend(query, keys, values, context, dropout=self.dropout if self.training else 0.0)  # [B, H, T, K]
        return self.out_projection(self.join_heads(heads))  # [B, H, T, K] -> [B, T, D] -> [B, T, D]

    def split_heads(self, x: Tensor) -> Tensor:
        """Split N concatenated projections x [B, T, N D] into heads, [B, N H, T, K]."""
        x = x.view(*x.shape[:2], -1, self.width)  # [B, T, N D] -> [B, T, N H, K]
        return x.transpose(1, 2)  # -> [B, N H, T, K]

    def join_heads(self, x: Tensor) -> Tensor:
        """Undo `split_heads` for one projection: reshape x [B, H, T, K] to [B, T, D]."""
        return x.transpose(1, 2).flatten(2)  # [B, H, T, K] -> [B, T, H, K] -> [B, T, D]


class SelfAttention(MultiHeadAttention):
    """Multi-head attention from a text to itself."""

    def forward(self, x: Tensor, context: AttentionContext = NO_CONTEXT, cache: LayerCache | None = None) -> Tensor:
        """Compute attention from T positions to themselves and to the P earlier positions in the cache.

        Args:
            x: [B, T, D].
            context: mask, positions and hooks.
            cache: contains the keys and values of earlier positions, and receives those of x.

        Returns:
            Output [B, T, D].
        """
        query, keys_and_values = self.project(x, context.relative)  # [B, T, D] -> [B, H, T, K], 2 x [B, H, T, K]
        if cache is not None:
            keys_and_values = cache.extend(keys_and_values)  # 2 x [B, H, T, K] -> 2 x [B, H, P + T, K]
        return self.attend_and_join(query, keys_and_values, context)  # -> [B, T, D]

    def project(self, x: Tensor, relative: RelativePositions | None = None) -> tuple[Tensor, KeysAndValues]:
        """Project x [B, T, D] to queries, keys and values, each [B, H, T, K].

        Queries and keys are rotated if the model encodes positions by rotation.
        """
        heads = self.split_heads(self.in_projection(x))  # [B, T, D] -> [B, T, 3D] -> [B, 3H, T, K]
        if relative is not None:
            queries_and_keys, values = heads.split_with_sizes((2 * self.heads, self.heads), dim=1)
            heads = torch.cat((relative.rotate(queries_and_keys), values), dim=1)  # -> [B, 3H, T, K]
        query, joined = heads.split_with_sizes((self.heads, 2 * self.heads), dim=1)  # -> [B, H, T, K], [B, 2H, T, K]
        return query, KeysAndValues(joined)


class CrossAttention(MultiHeadAttention):
    """Multi-head attention to another text ("Attention Is All You Need", section 3.2.3).

    The other text's keys and values are computed once and used at every decoding step.
    """

    def forward(self, x: Tensor, keys_and_values: KeysAndValues, context: AttentionContext = NO_CONTEXT) -> Tensor:
        """Compute attention from positions x [B, T, D] to keys and values [B, H, S, K]; the output is [B, T, D]."""
        query = self.project_queries(x)  # [B, T, D] -> [B, H, T, K]
        return self.attend_and_join(query, keys_and_values, context)  # -> [B, T, D]

    def project_queries(self, x: Tensor) -> Tensor:
        """Project x [B, T, D] to queries [B, H, T, K]."""
        weight, bias = self.projection_of_queries()
        return self.split_heads(F.linear(x, weight, bias))  # [B, T, D] -> [B, T, D] -> [B, H, T, K]

    def project_keys_and_values(self, memory: Tensor) -> KeysAndValues:
        """Project the encoder's output [B, S, D] to keys and values [B, H, S, K]."""
        weight, bias = self.projection_of_keys_and_values()
        joined = self.split_heads(F.linear(memory, weight, bias))  # [B, S, D] -> [B, S, 2D] -> [B, 2H, S, K]
        return KeysAndValues(joined)

    def projection_of_queries(self) -> tuple[Tensor, Tensor]:
        """Return the weight [D, D] and bias [D] of the query projection."""
        d_model = self.in_projection.in_features
        return self.in_projection.weight[:d_model], self.in_projection.bias[:d_model]

    def projection_of_keys_and_values(self) -> tuple[Tensor, Tensor]:
        """Return the weight [2D, D] and bias [2D] of the joint projection to keys and values."""
        d_model = self.in_projection.in_features
        return self.in_projection.weight[d_model:], self.in_projection.bias[d_model:]
