"""Self-attention for language models that read long texts: local and memory-compressed attention (Liu et al. 2018).

Source: "Generating Wikipedia by Summarizing Long Sequences", section 4.2.3. Both variants compute queries, keys
and values, and cache keys and values, in the same way as full attention.
"""

import torch
from torch import Tensor

from transformer.config import TransformerConfig
from transformer.errors import InterventionError
from transformer.model.attention import NO_CONTEXT, AttentionContext, SelfAttention
from transformer.model.blocks import Blocks
from transformer.model.compression import Compression
from transformer.model.edits import Edits
from transformer.model.kv_cache import KeysAndValues
from transformer.model.masks import causal_mask, compressed_mask, intersect


class LocalAttention(SelfAttention):
    """Multi-head attention within blocks of `config.block` positions; all blocks use the same mask."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config.d_model, config.heads, dropout=config.dropout)
        self.block = config.block

    def attend_and_join(
        self, query: Tensor, keys_and_values: KeysAndValues, context: AttentionContext = NO_CONTEXT
    ) -> Tensor:
        queries = query.shape[2]
        blocks = Blocks(self.block, keys_and_values.length - queries, queries)
        query, keys_and_values = blocks.split_queries(query), blocks.split_keys_and_values(keys_and_values)
        y = super().attend_and_join(query, keys_and_values, context)  # [B N, H, W, K] -> [B N, W, D]
        return blocks.join(y)  # -> [B, T, D]


class CompressedAttention(SelfAttention):
    """Multi-head attention to compressed keys and values, each merged from `config.stride` positions.

    The cache stores uncompressed keys and values, and every step compresses all of them.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config.d_model, config.heads, dropout=config.dropout)
        self.compression = Compression(config.d_model, config.heads, config.stride)

    def attend_and_join(
        self, query: Tensor, keys_and_values: KeysAndValues, context: AttentionContext = NO_CONTEXT
    ) -> Tensor:
        keys_and_values = self.compression(keys_and_values)  # [B, H, S, K] -> [B, H, C, K]
        return super().attend_and_join(query, keys_and_values, context)


def masked_self_attention(config: TransformerConfig) -> SelfAttention:
    """Create the self-attention module of a decoder layer; `config.attention` selects the class."""
    if config.attention == "local":
        return LocalAttention(config)
    if config.attention == "compressed":
        return CompressedAttention(config)
    return SelfAttention(config.d_model, config.heads, dropout=config.dropout)


def self_attention_mask(
    config: TransformerConfig, edits: Edits, queries: int, start: int, device: torch.device
) -> Tensor | None:
    """Return a decoder's mask for `queries` positions after `start` earlier ones; None allows everything.

    Raises:
        InterventionError: the edits change attention, but the model has local or compressed attention.
    """
    if config.attention != "full" and edits.change_attention:
        raise InterventionError(
            f"The {config.attention} attention of this model cannot be changed: choose a model with full attention."
        )
    if config.attention == "local":
        return Blocks(config.block, start, queries).mask(device)
    if config.attention == "compressed":
        return compressed_mask(start + queries, config.stride, device=device)[start:]
    keys = start + queries
    # A single query is at the last position and may see all keys, so it needs no causal mask. Create the mask on the
    # device, because every training step needs one.
    causal = edits.lift(causal_mask(keys, device=device)[start:]) if queries > 1 else None
    return intersect(causal, edits.mask("decoder", queries, keys, device, start=start))
