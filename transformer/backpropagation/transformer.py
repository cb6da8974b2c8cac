"""The whole encoder-decoder model, forward and backward ("Attention Is All You Need", figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.embedding import EmbeddingSaved, embedding, embedding_backward
from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm, layer_norm_backward
from transformer.backpropagation.layers import (
    DecoderLayerSaved,
    EncoderLayerSaved,
    decoder_layer,
    decoder_layer_backward,
    encoder_layer,
    encoder_layer_backward,
)
from transformer.backpropagation.linear import LinearSaved, linear, linear_backward
from transformer.backpropagation.notes import Notes, prefix, select
from transformer.config import TransformerConfig
from transformer.model.encodings import added_positions

# For each kind of tying, maps each tied parameter to the parameter that holds the values. A checkpoint has only the
# latter.
SHARED_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "target": {"generator.weight": "target_embedding.weight"},
    "all": {"generator.weight": "source_embedding.weight", "target_embedding.weight": "source_embedding.weight"},
}


class TransformerSaved(NamedTuple):
    source: EmbeddingSaved
    source_norm: LayerNormSaved | None
    encoder_layers: tuple[EncoderLayerSaved, ...]
    encoder_norm: LayerNormSaved | None
    target: EmbeddingSaved
    target_norm: LayerNormSaved | None
    decoder_layers: tuple[DecoderLayerSaved, ...]
    decoder_norm: LayerNormSaved | None
    generator: LinearSaved


def transformer(
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    source: np.ndarray,
    target: np.ndarray,
    source_mask: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, TransformerSaved]:
    """Return the logits for the token after each target token, [B, T, V], without dropout.

    Args:
        parameters: parameters by their names in a checkpoint, float64; a shared parameter has one entry.
        config: model configuration.
        source: token ids that the encoder reads, [B, S].
        target: token ids that the decoder reads, start symbol first, [B, T].
        source_mask: bool [B, S], False for padding; None if there is no padding.
        notes: receives every intermediate result.
    """
    parameters = with_tied(parameters, config)
    source_allowed = None if source_mask is None else source_mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]
    not_later = np.tri(target.shape[1], dtype=bool)  # [T, T]

    # 1. encoder
    x, source_saved = embedding(
        source,
        parameters["source_embedding.weight"],
        added_positions(config, parameters, "source", source.shape[1]),
        config,
        notes.of("source"),
    )
    x, source_norm = _normalised("source", x, parameters, there=config.embedding_norm)
    x = notes.of("source").note("input", x)
    encoder_saved = []
    for number in range(config.encoder_layers):
        name = f"encoder_layers.{number}"
        x, saved = encoder_layer(x, select(parameters, name), config, source_allowed, notes.of(name))
        encoder_saved.append(saved)
    memory, encoder_norm = _normalised("encoder", x, parameters, there=config.norm == "pre")
    memory = notes.note("memory", memory)

    # 2. decoder
    x, target_saved = embedding(
        target,
        parameters["target_embedding.weight"],
        added_positions(config, parameters, "target", target.shape[1]),
        config,
        notes.of("target"),
    )
    x, target_norm = _normalised("target", x, parameters, there=config.embedding_norm)
    x = notes.of("target").note("input", x)
    decoder_saved = []
    for number in range(config.decoder_layers):
        name = f"decoder_layers.{number}"
        x, saved = decoder_layer(x, memory, select(parameters, name), config, not_later, source_allowed, notes.of(name))
        decoder_saved.append(saved)
    hidden, decoder_norm = _normalised("decoder", x, parameters, there=config.norm == "pre")

    # 3. generator
    logits, generator_saved = linear(
        notes.note("hidden", hidden), parameters["generator.weight"], parameters.get("generator.bias")
    )
    return notes.note("logits", logits), TransformerSaved(
        source_saved,
        source_norm,
        tuple(encoder_saved),
        encoder_norm,
        target_saved,
        target_norm,
        tuple(decoder_saved),
        decoder_norm,
        generator_saved,
    )


def transformer_backward(
    grad: np.ndarray, saved: TransformerSaved, config: TransformerConfig, notes: Notes
) -> dict[str, np.ndarray]:
    """Return the gradient of every use of a parameter, by name; `sum_tied` adds up the uses of a shared parameter.

    Args:
        grad: dz, the gradient of the logits, [B, T, V].
        saved: values from the forward pass.
        config: model configuration.
        notes: receives a gradient for every result that the forward pass noted.
    """
    gradients = {}

    # 3. generator
    generator = linear_backward(notes.note("logits", grad), saved.generator)
    gradients["generator.weight"] = generator.weight
    if config.output_bias:
        gradients["generator.bias"] = generator.bias

    # 2. decoder; every decoder layer reads the encoder output, so the encoder output's gradient is a sum over the
    # layers.
    dx, more = _normalised_backward("decoder", notes.note("hidden", generator.x), saved.decoder_norm)
    gradients |= more
    sent_back = []
    for number, layer_saved in reversed(list(enumerate(saved.decoder_layers))):
        name = f"decoder_layers.{number}"
        layer = decoder_layer_backward(dx, layer_saved, notes.of(name))
        dx = layer.x
        sent_back.append(layer.memory)
        gradients |= prefix(name, layer.parameters)
    dx, more = _normalised_backward("target", notes.of("target").note("input", dx), saved.target_norm)
    gradients |= more
    target = embedding_backward(dx, saved.target, notes.of("target"))
    gradients |= {f"target_{name}": each for name, each in target.items()}

    # 1. encoder
    memory = notes.note("memory", np.sum(sent_back, axis=0))
    dx, more = _normalised_backward("encoder", memory, saved.encoder_norm)
    gradients |= more
    for number, layer_saved in reversed(list(enumerate(saved.encoder_layers))):
        name = f"encoder_layers.{number}"
        layer = encoder_layer_backward(dx, layer_saved, notes.of(name))
        dx = layer.x
        gradients |= prefix(name, layer.parameters)
    dx, more = _normalised_backward("source", notes.of("source").note("input", dx), saved.source_norm)
    gradients |= more
    source = embedding_backward(dx, saved.source, notes.of("source"))
    return gradients | {f"source_{name}": each for name, each in source.items()}


def with_tied(parameters: Mapping[str, np.ndarray], config: TransformerConfig) -> dict[str, np.ndarray]:
    """Return the parameters with an additional entry for each tied parameter."""
    return {**parameters, **{use: parameters[name] for use, name in SHARED_PARAMETERS[config.tied_embeddings].items()}}


def sum_tied(gradients: Mapping[str, np.ndarray], config: TransformerConfig) -> dict[str, np.ndarray]:
    """Return the gradient of each parameter, which for a shared parameter is the sum over all uses.

    Source: Press and Wolf 2017, "Using the Output Embedding to Improve Language Models", section 3.
    """
    tied = SHARED_PARAMETERS[config.tied_embeddings]
    summed = {name: each for name, each in gradients.items() if name not in tied}
    for use, name in tied.items():
        summed[name] = summed[name] + gradients[use]
    return summed


def _normalised(
    name: str, x: np.ndarray, parameters: Mapping[str, np.ndarray], *, there: bool
) -> tuple[np.ndarray, LayerNormSaved | None]:
    """Apply the norm `name` to x [B, N, D] if the model has it. Such norms follow the embeddings or a pre-norm
    stack."""
    if not there:
        return x, None
    return layer_norm(x, parameters[f"{name}_norm.weight"], parameters[f"{name}_norm.bias"])


def _normalised_backward(
    name: str, grad: np.ndarray, saved: LayerNormSaved | None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the gradient dx [B, N, D], and the gradients of the norm's parameters, if there is a norm."""
    if saved is None:
        return grad, {}
    gradients = layer_norm_backward(grad, saved)
    return gradients.x, {f"{name}_norm.weight": gradients.gain, f"{name}_norm.bias": gradients.bias}
