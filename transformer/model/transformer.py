"""The encoder-decoder Transformer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.cache import KeysAndValues
from transformer.model.dropout import Dropout
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.linear import Linear
from transformer.model.masks import causal_mask, padding_mask
from transformer.model.positions import PositionalEncoding
from transformer.model.recorder import Recorder
from transformer.options import AS_TRAINED, RunOptions


@dataclass(frozen=True)
class DecoderCache:
    """What the decoder keeps between two steps, one entry a layer.

    Attributes:
        source: cross-attention keys and values of the source, [B, H, S, K].
        source_real: bool [B, S], False on padding; None when there is none.
        options: of the run, the same for all its steps.
        past: self-attention keys and values of the pieces read so far, [B, H, P, K]; empty before the first.
        length: number of pieces read so far, P.
    """

    source: tuple[KeysAndValues, ...]
    source_real: Tensor | None
    options: RunOptions
    past: tuple[KeysAndValues, ...] = ()
    length: int = 0

    def select(self, rows: Tensor) -> DecoderCache:
        """The cache of the sentences `rows` [B'] of this batch, in that order; one may be taken twice."""
        source = tuple(part.select(rows) for part in self.source)
        real = None if self.source_real is None else self.source_real[rows]
        return replace(self.select_past(rows), source=source, source_real=real)

    def select_past(self, rows: Tensor) -> DecoderCache:
        """As `select`, for as many rows [B] as there are, each with the source of the row that it continues."""
        return replace(self, past=tuple(part.select(rows) for part in self.past))


class Transformer(nn.Module):
    """The model of "Attention Is All You Need" (Vaswani et al. 2017, section 3, figure 1).

    Holds parameters only. Every run gets its masks, options, cache and recorder as arguments, so threads can share one
    model.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(config.source_vocabulary, config.d_model)
        self.target_embedding = nn.Embedding(config.target_vocabulary, config.d_model)
        self.source_positions = PositionalEncoding(config)
        self.target_positions = PositionalEncoding(config)
        self.dropout = Dropout(config.dropout)
        self.encoder_layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # Pre-norm leaves each stack's output unnormalised; post-norm has just normalised it.
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if pre else nn.Identity()
        self.generator = Linear(config.d_model, config.target_vocabulary, bias=config.output_bias)
        if config.tied_embeddings == "all":
            self.source_embedding.weight = self.target_embedding.weight
        if config.tied_embeddings != "none":
            self.generator.weight = self.target_embedding.weight

    def forward(self, source: Tensor, target: Tensor, *, source_real: Tensor | None = None) -> Tensor:
        """Logits [B, T, V] of the piece after each target piece.

        Args:
            source: piece ids [B, S].
            target: ids of the pieces the decoder reads [B, T], the start symbol first. Padding at their end needs
                no mask: no earlier position looks at it.
            source_real: bool [B, S], False on padding; None when there is none.
        """
        return self.generator(self.decode(target, self.encode(source, source_real), source_real))

    def encode(
        self,
        source: Tensor,
        source_real: Tensor | None,
        *,
        options: RunOptions = AS_TRAINED,
        record: Recorder | None = None,
    ) -> Tensor:
        """The encoder's output [B, S, D] for piece ids [B, S]; `source_real` as in `forward`."""
        x = self._embed(source, self.source_embedding, self.source_positions if options.positions else None)
        if record is not None:
            record.residual("encoder", x)
        allowed = padding_mask(source_real)
        for layer in self.encoder_layers:
            x = layer(x, allowed, record)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source_real: Tensor | None,
        *,
        options: RunOptions = AS_TRAINED,
        record: Recorder | None = None,
    ) -> Tensor:
        """The decoder's output [B, T, D] when it reads all of `target` [B, T] at once (teacher forcing)."""
        return self.decode_more(target, self.begin(memory, source_real, options=options), record=record)[0]

    def begin(self, memory: Tensor, source_real: Tensor | None, *, options: RunOptions = AS_TRAINED) -> DecoderCache:
        """A cache for decoding from the encoder's output [B, S, D], before the first piece is read."""
        source = tuple(
            layer.cross_attention.project_keys_and_values(memory).contiguous() for layer in self.decoder_layers
        )
        return DecoderCache(source, source_real, options)

    def decode_more(
        self, target: Tensor, cache: DecoderCache, *, record: Recorder | None = None
    ) -> tuple[Tensor, DecoderCache]:
        """Read further target pieces [B, T], behind those the cache knows.

        Returns:
            The decoder's output [B, T, D] for the new pieces (`generator` turns it into logits), and the cache
            with them. The cache given stays as it was.
        """
        positions = self.target_positions if cache.options.positions else None
        x = self._embed(target, self.target_embedding, positions, start=cache.length)
        if record is not None:
            record.residual("decoder", x)
        length = cache.length + target.shape[1]
        allowed = None
        if cache.options.decoder_mask and target.shape[1] > 1:
            allowed = causal_mask(length, device=target.device)[cache.length :]
        source_allowed = padding_mask(cache.source_real)
        seen = []
        for layer, source, past in zip(
            self.decoder_layers, cache.source, cache.past or [None] * len(cache.source), strict=True
        ):
            x, keys_and_values = layer(x, source, allowed, source_allowed, past=past, record=record)
            seen.append(keys_and_values)
        return self.decoder_norm(x), replace(cache, past=tuple(seen), length=length)

    def _embed(
        self, pieces: Tensor, embedding: nn.Embedding, positions: PositionalEncoding | None, *, start: int = 0
    ) -> Tensor:
        x = embedding(pieces)
        if self.config.scale_embedding:
            x = x * math.sqrt(self.config.d_model)
        return self.dropout(x if positions is None else positions(x, start=start))


def build(config: TransformerConfig) -> Transformer:
    """A Transformer with fresh weights, drawn from torch's global random generator.

    Matrices are Xavier-uniform (Glorot and Bengio 2010), each of the three parts of a fused projection for
    itself; biases are 0. Embeddings and learned positions are normal with variance 1/D, so that a scaled embedding
    has unit variance, and so have the logits of a tied output layer.
    """
    model = Transformer(config)
    for name, parameter in model.named_parameters():
        if name.endswith(("embedding.weight", "positions.table")):
            nn.init.normal_(parameter, std=config.d_model**-0.5)
        elif name.endswith("in_projection.weight"):
            for part in parameter.detach().chunk(3):
                nn.init.xavier_uniform_(part)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
    return model
