"""The Transformer: an encoder-decoder, or one of its stacks alone."""

import math
from typing import cast

import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.model.attention import AttentionContext
from transformer.model.attention_variants import self_attention_mask
from transformer.model.edits import UNEDITED, Edits
from transformer.model.fast.dropout import dropout
from transformer.model.hooks import Hooks, hooks_of
from transformer.model.kv_cache import DecoderCache
from transformer.model.layers import DecoderLayer, EncoderLayer, LayerContext
from transformer.model.masks import intersect, padding_mask
from transformer.model.positions import PositionalEncoding
from transformer.model.recorder import Recorder
from transformer.text.vocabulary import OWN_SYMBOLS, Symbols
from transformer.values.sites import check_sites


class Transformer(nn.Module):
    """The model of "Attention Is All You Need" (Vaswani et al. 2017, section 3, figure 1).

    Without an encoder, the model is a language model, p(w_1 .. w_n) = prod p(w_j | w_1 .. w_j-1) (Liu et al. 2018,
    "Generating Wikipedia by Summarizing Long Sequences", section 4.2.2). With pre-norm, learned positions and
    `gelu_tanh`, it has GPT-2's layers (Radford et al. 2019, section 2.3). Without a decoder, only `encode` works.

    A model run stores nothing on the model. The run gets its masks, edits, cache and recorder as arguments, so threads
    can share one model.

    Args:
        config: configuration of the model.
        symbols: ids of the vocabulary's special tokens.
    """

    def __init__(self, config: TransformerConfig, symbols: Symbols = OWN_SYMBOLS) -> None:
        super().__init__()
        self.config = config
        self.symbols = symbols
        has_encoder, has_decoder = config.encoder_layers > 0, config.decoder_layers > 0
        # These lines determine the order of the parameters. New random weights and recorded training runs depend on
        # this order, so encoder and decoder lines must stay interleaved.
        if has_encoder:
            self.source_embedding = nn.Embedding(config.source_vocabulary, config.d_model)
        if has_decoder:
            self.target_embedding = nn.Embedding(config.target_vocabulary, config.d_model)
        if has_encoder:
            self.source_positions = PositionalEncoding(config)
        if has_decoder:
            self.target_positions = PositionalEncoding(config)
        normed = config.embedding_norm
        self.source_norm = nn.LayerNorm(config.d_model) if normed and has_encoder else nn.Identity()
        self.target_norm = nn.LayerNorm(config.d_model) if normed and has_decoder else nn.Identity()
        self.encoder_layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder_layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        # With pre-norm, a stack's output still has to be normalised. With post-norm, the last layer normalises it.
        pre = config.norm == "pre"
        self.encoder_norm = nn.LayerNorm(config.d_model) if pre and has_encoder else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if pre and has_decoder else nn.Identity()
        if has_decoder:
            self.generator = nn.Linear(config.d_model, config.target_vocabulary, bias=config.output_bias)
        if config.tied_embeddings == "all":
            self.source_embedding.weight = self.target_embedding.weight
        if config.tied_embeddings != "none":
            self.generator.weight = self.target_embedding.weight

    def forward(
        self,
        source: Tensor | None,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        edits: Edits = UNEDITED,
        record: Recorder | None = None,
    ) -> Tensor:
        """Return the next-token logits [B, T, V] after each target token, in one pass (teacher forcing).

        Args:
            source: token ids [B, S]; None for a language model.
            target: ids [B, T] of the tokens that the decoder reads, beginning with the start symbol. Padding at the end
                needs no mask, because no earlier position attends to it.
            source_mask: bool [B, S], False on padding; None without padding.
            edits: changes to the model's values for these texts; see `edits_of`.
            record: recorder that receives the computed tensors.
        """
        memory = None if source is None else self.encode(source, source_mask, edits=edits, record=record)
        output, cache = self.decode_step(target, self.start_cache(memory, source_mask, edits=edits), record=record)
        return self.logits(output, cache, record=record)  # [B, T, D] -> [B, T, V]

    def encode(
        self, source: Tensor, source_mask: Tensor | None, *, edits: Edits = UNEDITED, record: Recorder | None = None
    ) -> Tensor:
        """Return the encoder's output [B, S, D].

        Args:
            source: token ids [B, S], or vectors [B, S, D] in place of their scaled embeddings.
            source_mask, edits, record: as in `forward`.
        """
        check_sites(edits.hooks, self.config)
        hooks = hooks_of(edits, record, "encoder")
        positions = self.source_positions if edits.positions else None
        x = self._embed(source, self.source_embedding, positions, self.source_norm)  # [B, S] -> [B, S, D]
        x = hooks.at("embedding", x)
        context = self._encoder_context(source_mask, edits, source.shape[1], source.device, hooks)
        for index, layer in enumerate(self.encoder_layers):
            x = layer(x, context.of_layer(index))  # [B, S, D]
        return hooks.at("stack_output", self.encoder_norm(x))

    def decode(
        self,
        target: Tensor,
        memory: Tensor | None,
        source_mask: Tensor | None = None,
        *,
        edits: Edits = UNEDITED,
        record: Recorder | None = None,
    ) -> Tensor:
        """Return the decoder's output [B, T, D] for a whole target, which it reads in one pass (teacher forcing).

        Args:
            target: token ids [B, T], or vectors [B, T, D] in place of their scaled embeddings.
            memory: the encoder's output [B, S, D]; None for a language model.
            source_mask, edits, record: as in `forward`.
        """
        return self.decode_step(target, self.start_cache(memory, source_mask, edits=edits), record=record)[0]

    def decode_step(
        self, target: Tensor, cache: DecoderCache, *, record: Recorder | None = None
    ) -> tuple[Tensor, DecoderCache]:
        """Read further target tokens [B, T], which follow the tokens in the cache.

        Returns:
            The decoder's output [B, T, D] for the new tokens, to be passed to `logits`, and a cache that also contains
            these tokens. The cache passed in does not change.
        """
        edits, start = cache.edits, cache.length
        hooks = hooks_of(edits, record, "decoder", start=start)
        positions = self.target_positions if edits.positions else None
        x = self._embed(target, self.target_embedding, positions, self.target_norm, start=start)  # [B, T] -> [B, T, D]
        x = hooks.at("embedding", x)
        context = self._decoder_context(cache, target.shape[1], target.device, hooks)
        layers = []
        for index, layer in enumerate(self.decoder_layers):
            layers.append(cache.of_layer(index))
            x = layer(x, context.of_layer(index), layers[-1])  # [B, T, D]
        return hooks.at("stack_output", self.decoder_norm(x)), cache.extended(layers, target.shape[1])

    def logits(self, output: Tensor, cache: DecoderCache, *, record: Recorder | None = None) -> Tensor:
        """Return the next-token logits [B, T, V] after each of the last T tokens in the cache.

        Args:
            output: the decoder's output for these tokens, [B, T, D], as returned by `decode_step`.
            cache: the cache returned together with `output`.
            record: recorder that receives the logits; None to record nothing.
        """
        hooks = hooks_of(cache.edits, record, "decoder", start=cache.length - output.shape[1])
        return hooks.at("logits", self.generator(output))  # [B, T, D] -> [B, T, V]

    def start_cache(
        self, memory: Tensor | None = None, source_mask: Tensor | None = None, *, edits: Edits = UNEDITED
    ) -> DecoderCache:
        """Return the initial cache for decoding, before any token is read.

        Args:
            memory: the encoder's output [B, S, D]; None for a language model.
            source_mask: the mask passed to `encode`.
            edits: the edits passed to `encode`; the cache passes them to every later step.
        """
        check_sites(edits.hooks, self.config)
        if memory is None:
            return DecoderCache((), source_mask, edits)
        attentions = [cast("DecoderLayer", layer).cross_attention for layer in self.decoder_layers]
        # L x [B, S, D] -> L x 2 x [B, H, S, K]
        keys_and_values = tuple(each.project_keys_and_values(memory).contiguous() for each in attentions)
        return DecoderCache(keys_and_values, source_mask, edits)

    def _encoder_context(
        self, source_mask: Tensor | None, edits: Edits, length: int, device: torch.device, hooks: Hooks
    ) -> LayerContext:
        """Return the inputs that all encoder layers share for a source of `length` tokens."""
        # [B, 1, 1, S] and [B, 1, S, S] -> [B, 1, S, S], or None
        mask = intersect(padding_mask(source_mask), edits.mask("encoder", length, length, device))
        relative = self.source_positions.relative(length) if edits.positions else None
        return LayerContext(AttentionContext(mask, relative), hooks=hooks)

    def _decoder_context(self, cache: DecoderCache, queries: int, device: torch.device, hooks: Hooks) -> LayerContext:
        """Return the inputs that all decoder layers share for the next `queries` positions."""
        edits, start = cache.edits, cache.length
        relative = self.target_positions.relative(queries, start=start) if edits.positions else None
        masked = AttentionContext(self_attention_mask(self.config, edits, queries, start, device), relative)
        if not cache.memory_keys_and_values:
            return LayerContext(masked, hooks=hooks)
        keys = cache.memory_keys_and_values[0].length
        cross_mask = intersect(padding_mask(cache.source_mask), edits.mask("cross", queries, keys, device, start=start))
        return LayerContext(masked, AttentionContext(cross_mask), hooks)

    def _embed(
        self,
        tokens: Tensor,
        embedding: nn.Embedding,
        positions: PositionalEncoding | None,
        norm: nn.Module,
        *,
        start: int = 0,
    ) -> Tensor:
        """Return the first layer's input [B, T, D]: embeddings plus positions, after any norm and dropout."""
        x = self.token_vectors(tokens, embedding)  # [B, T] -> [B, T, D]
        if positions is not None:
            x = positions(x, start=start)  # [B, T, D] + [T, D]
        return dropout(norm(x), self.config.dropout, self.training)

    def token_vectors(self, tokens: Tensor, embedding: nn.Embedding) -> Tensor:
        """Return the scaled embeddings [B, T, D] of token ids [B, T]; vectors [B, T, D] are returned unchanged."""
        if tokens.is_floating_point():
            return tokens
        x = embedding(tokens)  # [B, T] -> [B, T, D]
        return x * math.sqrt(self.config.d_model) if self.config.scale_embedding else x

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device


def build(config: TransformerConfig, symbols: Symbols = OWN_SYMBOLS) -> Transformer:
    """Create a Transformer with new weights, drawn from torch's global random generator.

    Matrices are drawn from the Xavier uniform distribution (Glorot and Bengio 2010); the three parts of a fused
    projection are drawn separately. Biases are 0. Embeddings and learned positions are normally distributed with
    variance 1/D. Scaled embeddings and the logits of a tied output layer then have unit variance.
    """
    model = Transformer(config, symbols)
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
