"""The decoder-only Transformer: a language model p(w_1 .. w_n) = prod p(w_j | w_1 .. w_j-1)."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from transformer.config import LanguageModelConfig
from transformer.model.blocks import Blocks
from transformer.model.dropout import dropout
from transformer.model.edits import UNEDITED
from transformer.model.kv_cache import DecoderCache, KeysAndValues
from transformer.model.layers import LanguageModelLayer
from transformer.model.linear import Linear
from transformer.model.masks import causal_mask, compressed_mask
from transformer.model.module import LayerNorm, Module
from transformer.model.positions import PositionalEncoding
from transformer.model.recorder import Recorder
from transformer.model.transformer import initialise
from transformer.text.vocabulary import OWN, Symbols


class LanguageModel(Module):
    """Embedding, positions, layers of masked self-attention and feed-forward networks, and the embedding again as the
    output layer (Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section 4.2.2; with pre-norm,
    learned positions and `gelu_tanh` it is GPT-2, Radford et al. 2019, section 2.3).

    Holds parameters only, as `Transformer` does, so threads can share one model.

    Args:
        config: its shape.
        symbols: ids of the pieces that a text starts with, ends with and leaves out.
    """

    def __init__(self, config: LanguageModelConfig, symbols: Symbols = OWN) -> None:
        super().__init__()
        self.config = config
        self.symbols = symbols
        self.embedding = nn.Embedding(config.vocabulary, config.d_model)
        self.positions = PositionalEncoding(config)
        self.layers = nn.ModuleList(LanguageModelLayer(config) for _ in range(config.layers))
        # Pre-norm leaves the output of the last layer unnormalised; post-norm has just normalised it.
        self.norm = LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.generator = Linear(config.d_model, config.vocabulary, bias=False)
        self.generator.weight = self.embedding.weight

    def forward(self, pieces: Tensor, *, record: Recorder | None = None, masked: bool = True) -> Tensor:
        """Logits [B, T, V] of the piece after each piece of `pieces` [B, T], read all at once (teacher forcing).

        Padding at the end of a row needs no mask: no earlier position attends to it.

        Args:
            record: receives what is computed.
            masked: off, every position looks at later ones too; with full attention only.
        """
        return self.generator(self._read(pieces, None, record, masked=masked)[0])

    def start_cache(self, beginning: Tensor) -> DecoderCache:
        """The cache that goes on from a beginning [B, T], its start symbol first; all of it but the last piece, which
        the first step reads, has been read. Only for runs without gradients."""
        cache = DecoderCache(source=(), source_mask=None, edits=UNEDITED, past=self._empty(beginning))
        if beginning.shape[1] > 1:
            cache = self.decode_step(beginning[:, :-1], cache)[1]
        return replace(cache, unread=beginning[:, -1])

    def decode_step(
        self, pieces: Tensor, cache: DecoderCache, *, record: Recorder | None = None
    ) -> tuple[Tensor, DecoderCache]:
        """Read further pieces [B, T], which follow those in the cache; returns what `Transformer.decode_step` does."""
        x, past = self._read(pieces, cache, record)
        return x, replace(cache, past=past, length=cache.length + pieces.shape[1], unread=None)

    def _read(
        self, pieces: Tensor, cache: DecoderCache | None, record: Recorder | None, *, masked: bool = True
    ) -> tuple[Tensor, tuple[KeysAndValues, ...]]:
        """The output [B, T, D] for pieces [B, T] that follow those in the cache, and each layer's keys and values."""
        start, rows = (0 if cache is None else cache.length), pieces.shape[1]
        x = self.embedding(pieces)
        if self.config.scale_embedding:
            x = x * math.sqrt(self.config.d_model)
        x = dropout(self.positions(x, start=start), self.config.dropout, self.training)
        if record is not None:
            record.residual("decoder", x)
        blocks = Blocks(self.config.block, start, rows) if self.config.attention == "local" else None
        allowed = self._allowed(start, rows, pieces.device) if blocks is None else blocks.allowed(pieces.device)
        if not masked:
            allowed = None
        read = []
        for layer, past in zip(self.layers, [None] * len(self.layers) if cache is None else cache.past, strict=True):
            x, keys_and_values = layer(x, allowed, blocks=blocks, past=past, record=record)
            read.append(keys_and_values)
        return self.norm(x), tuple(read)

    def _allowed(self, start: int, rows: int, device: torch.device) -> Tensor | None:
        """What the positions start, start + 1, ... may look at, bool [rows, keys]; None for everything."""
        length = start + rows
        if self.config.attention == "compressed":
            return compressed_mask(length, self.config.stride, device=device)[start:]
        # A single new piece may look at everything before it.
        return causal_mask(length, device=device)[start:] if rows > 1 else None

    def _empty(self, beginning: Tensor) -> tuple[KeysAndValues, ...]:
        """Keys and values of no position yet, of each layer, for the rows of a beginning [B, T]."""
        heads, width = self.config.heads, self.config.d_model // self.config.heads
        none = self.embedding.weight.new_empty(len(beginning), 2 * heads, 0, width)
        return tuple(KeysAndValues(none) for _ in self.layers)


def build_language_model(config: LanguageModelConfig, symbols: Symbols = OWN) -> LanguageModel:
    """A language model with fresh weights, drawn as those of `transformer.model.transformer.build`."""
    model = LanguageModel(config, symbols)
    initialise(model, config.d_model)
    return model
