"""The encoder-decoder Transformer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import cast

from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.dropout import dropout
from transformer.model.edits import UNEDITED, Edits
from transformer.model.kv_cache import DecoderCache
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.linear import Linear
from transformer.model.masks import intersect, padding_mask
from transformer.model.module import Embedding, LayerNorm, Module
from transformer.model.positions import PositionalEncoding
from transformer.model.recorder import Recorder
from transformer.text.vocabulary import OWN, Symbols


class Transformer(Module):
    """The model of "Attention Is All You Need" (Vaswani et al. 2017, section 3, figure 1).

    Holds parameters only. Every run gets its masks, edits, cache and recorder as arguments, so threads can share one
    model.

    Args:
        config: its shape.
        symbols: ids of the pieces that decoding starts with, ends with and leaves out.
    """

    def __init__(self, config: TransformerConfig, symbols: Symbols = OWN) -> None:
        super().__init__()
        self.config = config
        self.symbols = symbols
        self.source_embedding = Embedding(config.source_vocabulary, config.d_model)
        self.target_embedding = Embedding(config.target_vocabulary, config.d_model)
        self.source_positions = PositionalEncoding(config)
        self.target_positions = PositionalEncoding(config)
        self.encoder_layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves each stack's output unnormalised; post-norm has just normalised it.
        pre = config.norm == "pre"
        self.encoder_norm = LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm = LayerNorm(config.d_model) if pre else nn.Identity()
        self.generator = Linear(config.d_model, config.target_vocabulary, bias=config.output_bias)
        if config.tied_embeddings == "all":
            self.source_embedding.weight = self.target_embedding.weight
        if config.tied_embeddings != "none":
            self.generator.weight = self.target_embedding.weight

    def forward(self, source: Tensor, target: Tensor, *, source_mask: Tensor | None = None) -> Tensor:
        """Logits [B, T, V] of the piece after each target piece.

        Args:
            source: piece ids [B, S].
            target: ids of the pieces the decoder reads [B, T], the start symbol first. Padding at their end needs
                no mask: no earlier position attends to it.
            source_mask: bool [B, S], False on padding; None when there is none.
        """
        return self.generator(self.decode(target, self.encode(source, source_mask), source_mask))

    def encode(
        self,
        source: Tensor,
        source_mask: Tensor | None,
        *,
        edits: Edits = UNEDITED,
        record: Recorder | None = None,
    ) -> Tensor:
        """The encoder's output [B, S, D] for piece ids [B, S]; `source_mask` as in `forward`.

        `edits` are what the rows do differently, see `edits_of`.
        """
        x = self._embed(source, self.source_embedding, self.source_positions if edits.positions else None)
        if record is not None:
            record.residual("encoder", x)
        length = source.shape[1]
        allowed = intersect(padding_mask(source_mask), edits.allowed("encoder", length, length, source.device))
        for layer, edit in zip(self.encoder_layers, edits.of_layers("encoder", len(self.encoder_layers)), strict=True):
            x = layer(x, allowed, record, edit)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source_mask: Tensor | None,
        *,
        edits: Edits = UNEDITED,
        record: Recorder | None = None,
    ) -> Tensor:
        """The decoder's output [B, T, D] when it reads all of `target` [B, T] at once (teacher forcing)."""
        return self.decode_step(target, self.start_cache(memory, source_mask, edits=edits), record=record)[0]

    def start_cache(
        self, memory: Tensor, source_mask: Tensor | None, *, edits: Edits = UNEDITED
    ) -> DecoderCache:
        """The cache that decoding starts from, given the encoder's output [B, S, D]; no piece is read yet.

        `edits` are those of `encode`; every later step takes them from the cache.
        """
        layers = cast("Iterable[DecoderLayer]", self.decoder_layers)
        source = tuple(layer.cross_attention.project_keys_and_values(memory).contiguous() for layer in layers)
        return DecoderCache(source, source_mask, edits)

    def decode_step(
        self, target: Tensor, cache: DecoderCache, *, record: Recorder | None = None
    ) -> tuple[Tensor, DecoderCache]:
        """Read further target pieces [B, T], which follow those in the cache.

        Returns:
            The decoder's output [B, T, D] for the new pieces (`generator` turns it into logits), and the cache
            extended by them. The cache passed in does not change.
        """
        edits = cache.edits
        positions = self.target_positions if edits.positions else None
        x = self._embed(target, self.target_embedding, positions, start=cache.length)
        if record is not None:
            record.residual("decoder", x)
        rows, start = target.shape[1], cache.length
        allowed = edits.allowed("decoder", rows, start + rows, target.device, start=start)
        source_allowed = intersect(
            padding_mask(cache.source_mask),
            edits.allowed("cross", rows, cache.source[0].length, target.device, start=start),
        )
        count = len(cache.source)
        read = []
        for layer, source, past, edit, source_edit in zip(
            self.decoder_layers, cache.source, cache.past or [None] * count,
            edits.of_layers("decoder", count, start=start), edits.of_layers("cross", count, start=start), strict=True,
        ):
            x, keys_and_values = layer(
                x, source, allowed, source_allowed, past=past, record=record, edit=edit, source_edit=source_edit
            )
            read.append(keys_and_values)
        cache = DecoderCache(cache.source, cache.source_mask, edits, tuple(read), start + rows)
        return self.decoder_norm(x), cache

    def _embed(
        self, pieces: Tensor, embedding: Embedding, positions: PositionalEncoding | None, *, start: int = 0
    ) -> Tensor:
        x = embedding(pieces)
        if self.config.scale_embedding:
            x = x * math.sqrt(self.config.d_model)
        x = x if positions is None else positions(x, start=start)
        return dropout(x, self.config.dropout, self.training)


def build(config: TransformerConfig) -> Transformer:
    """A Transformer with fresh weights, drawn from torch's global random generator.

    Matrices are Xavier-uniform (Glorot and Bengio 2010), each of the three parts of a fused projection for
    itself; biases are 0. Embeddings and learned positions are normal with variance 1/D, so that a scaled embedding
    has unit variance, and so have the logits of a tied output layer.
    """
    model = Transformer(config)
    initialise(model, config.d_model)
    return model


def initialise(model: nn.Module, d_model: int) -> None:
    """Draw the weights of a model of width D as `build` says, which also makes its decoder-only sibling."""
    for name, parameter in model.named_parameters():
        if name.endswith(("embedding.weight", "positions.table")):
            nn.init.normal_(parameter, std=d_model**-0.5)
        elif name.endswith("in_projection.weight"):
            for part in parameter.detach().chunk(3):
                nn.init.xavier_uniform_(part)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
