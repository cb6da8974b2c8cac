"""The forward pass with gradients: from embeddings to logits, as functions of tensors that are not parameters.

The model's own pass has none on a CPU, where its weights are packed in half precision. Nothing is set on a module, and
gradients are only with respect to what a caller passes in, so that threads can share one model.

Letters: B batch, S source pieces, T target pieces, H heads, D model width, K head width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention, masked_softmax
from transformer.model.edits import UNEDITED, Edits
from transformer.model.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from transformer.model.positions import PositionalEncoding
from transformer.model.transformer import Transformer

# Each activation as a factor of its argument: f(x) = x g(x).
FACTORS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: (x > 0).to(x.dtype),
    "gelu": lambda x: (1 + torch.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": torch.sigmoid,
}


@dataclass(frozen=True, eq=False)
class Embedded:
    """What enters a stack: token embeddings, scaled, and the positions added to them.

    Attributes:
        tokens: [N, D].
        positions: [N, D]; 0 in a model without.
    """

    tokens: Tensor
    positions: Tensor


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """A way to run a model, in evaluation mode.

    Attributes:
        model: whose parameters to use.
        frozen: take attention weights, the scales of layer normalisations and the factors of activations as constants.
            The pass computes the same, but its gradients are those of a linear function of embeddings and biases
            (Ali et al. 2022, "XAI for Transformers: Better Explanations through Conservative Propagation", section 4;
            Modarressi et al. 2023, "DecompX").
        bias: factor on every bias of the model, broadcastable to [B, 1, D]; None for 1.
    """

    model: Transformer
    frozen: bool = False
    bias: Tensor | None = None

    def embed_source(self, ids: Tensor) -> Embedded:
        """Of source ids [S]."""
        return self._embed(ids, self.model.source_embedding, self.model.source_positions)

    def embed_prefix(self, ids: Tensor) -> Embedded:
        """Of the ids [T] that the decoder reads."""
        return self._embed(ids, self.model.target_embedding, self.model.target_positions)

    def encode(self, x: Tensor, edits: Edits = UNEDITED) -> Tensor:
        """The encoder's output [B, S, D].

        Args:
            x: embeddings with positions, [B, S, D].
            edits: of its rows, which may hide pieces and change nothing else.
        """
        allowed = edits.allowed("encoder", x.shape[1], x.shape[1], x.device)
        for layer in self.model.encoder_layers:
            assert isinstance(layer, EncoderLayer)
            # 1. self-attention
            read = self._read(layer.self_attention_residual, x)
            z = self._attention(layer.self_attention, read, read, allowed)
            x = self._write(layer.self_attention_residual, x, z)

            # 2. feed-forward
            z = self._feed_forward(layer.feed_forward, self._read(layer.feed_forward_residual, x))
            x = self._write(layer.feed_forward_residual, x, z)
        return self._norm(self.model.encoder_norm, x)

    def decode(self, y: Tensor, memory: Tensor, edits: Edits = UNEDITED) -> Tensor:
        """The decoder's output [B, T, D].

        Args:
            y: embeddings with positions of what the decoder reads, [B, T, D].
            memory: the encoder's output, [B, S, D].
            edits: of its rows, as in `encode`.
        """
        allowed = edits.allowed("decoder", y.shape[1], y.shape[1], y.device)
        source_allowed = edits.allowed("cross", y.shape[1], memory.shape[1], y.device)
        for layer in self.model.decoder_layers:
            assert isinstance(layer, DecoderLayer)
            # 1. masked self-attention
            read = self._read(layer.self_attention_residual, y)
            z = self._attention(layer.self_attention, read, read, allowed)
            y = self._write(layer.self_attention_residual, y, z)

            # 2. cross-attention
            read = self._read(layer.cross_attention_residual, y)
            z = self._attention(layer.cross_attention, read, memory, source_allowed)
            y = self._write(layer.cross_attention_residual, y, z)

            # 3. feed-forward
            z = self._feed_forward(layer.feed_forward, self._read(layer.feed_forward_residual, y))
            y = self._write(layer.feed_forward_residual, y, z)
        return self._norm(self.model.decoder_norm, y)

    def logits(self, hidden: Tensor, rows: Tensor | None = None) -> Tensor:
        """Of the decoder's output at N places [N, D], [N, V]; `rows` [N] says which of the batch each belongs to."""
        generator = self.model.generator
        logits = hidden @ generator.weight.detach().T
        if generator.bias is None:
            return logits
        bias = generator.bias.detach()
        return logits + (bias if self.bias is None or rows is None else self.bias[rows, 0] * bias)

    def _embed(self, ids: Tensor, embedding: nn.Embedding, positions: PositionalEncoding) -> Embedded:
        tokens = F.embedding(ids, embedding.weight.detach())
        if self.model.config.scale_embedding:
            tokens = tokens * math.sqrt(self.model.config.d_model)
        return Embedded(tokens, positions(torch.zeros_like(tokens)[None])[0].detach())

    def _read(self, residual: Residual, x: Tensor) -> Tensor:
        """What a sub-layer reads from the stream."""
        return self._norm(residual.norm, x) if residual.pre else x

    def _write(self, residual: Residual, x: Tensor, z: Tensor) -> Tensor:
        """The stream after a sub-layer wrote z to it."""
        return x + z if residual.pre else self._norm(residual.norm, x + z)

    def _attention(
        self,
        attention: MultiHeadAttention,
        read: Tensor,
        memory: Tensor,
        allowed: Tensor | None,
    ) -> Tensor:
        """What `transformer.model.attention.MultiHeadAttention` adds to the stream, [B, T, D]."""
        query, key, value = (slice(part * read.shape[-1], (part + 1) * read.shape[-1]) for part in range(3))
        # A frozen pass has no gradient through queries and keys.
        looking, looked_at = (read.detach(), memory.detach()) if self.frozen else (read, memory)

        def project(x: Tensor, rows: slice) -> Tensor:
            return attention.split_heads(self._linear(x, attention.in_projection, rows))  # [B, T, D] -> [B, H, T, K]

        queries, keys = project(looking, query), project(looked_at, key)
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # [B, H, T, S]
        weights = masked_softmax(scores, allowed)
        if self.frozen:
            weights = weights.detach()
        heads = weights @ project(memory, value)
        return self._linear(heads.transpose(1, 2).flatten(2), attention.out_projection)

    def _feed_forward(self, network: FeedForward, read: Tensor) -> Tensor:
        hidden = self._linear(read, network.expand)
        factor = FACTORS[self.model.config.activation](hidden)
        return self._linear(hidden * (factor.detach() if self.frozen else factor), network.contract)

    def _linear(self, x: Tensor, linear: nn.Linear, rows: slice = slice(None)) -> Tensor:
        weight, bias = linear.weight.detach()[rows], linear.bias.detach()[rows]
        if self.bias is None:
            return F.linear(x, weight, bias)
        return F.linear(x, weight) + self.bias * bias

    def _norm(self, norm: nn.Module, x: Tensor) -> Tensor:
        if not isinstance(norm, nn.LayerNorm):
            return x
        centred = x - x.mean(dim=-1, keepdim=True)
        scale = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
        if self.frozen:
            scale = scale.detach()
        bias = norm.bias.detach()
        return centred * scale * norm.weight.detach() + (bias if self.bias is None else self.bias * bias)
