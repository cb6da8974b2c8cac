"""The whole encoder-decoder model, forward and backward ("Attention Is All You Need", figure 1)."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.embedding import EmbeddingSaved, embedding, embedding_backward
from transformer.backpropagation.layer_norm import LayerNormSaved, layer_norm, layer_norm_backward
from transformer.backpropagation.layers import LayerSaved, layer, layer_backward
from transformer.backpropagation.linear import LinearSaved, linear, linear_backward
from transformer.backpropagation.notes import Notes, prefix, select
from transformer.config import TransformerConfig
from transformer.model.encodings import added_positions
from transformer.values.trace import SIDES, Stack

# For each setting of `tied_embeddings`, maps each tied parameter to the parameter whose values it shares. A checkpoint
# omits the tied parameters.
SHARED_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "target": {"generator.weight": "target_embedding.weight"},
    "all": {"generator.weight": "source_embedding.weight", "target_embedding.weight": "source_embedding.weight"},
}


class StackSaved(NamedTuple):
    """Values saved by each part of a stack; a norm is None if the model does not have it."""

    embedding: EmbeddingSaved
    embedding_norm: LayerNormSaved | None
    layers: tuple[LayerSaved, ...]
    norm: LayerNormSaved | None


class TransformerSaved(NamedTuple):
    encoder: StackSaved
    decoder: StackSaved
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

    Returns:
        The logits, and the values that the backward pass needs.
    """
    parameters = with_tied(parameters, config)
    source_allowed = None if source_mask is None else source_mask[:, None, None, :]  # [B, S] -> [B, 1, 1, S]
    not_later = np.tri(target.shape[1], dtype=bool)  # [T, T]

    # 1. encoder
    x, encoder_saved = _stack("encoder", source, None, parameters, config, source_allowed, None, notes)
    memory = notes.note("memory", x)

    # 2. decoder
    x, decoder_saved = _stack("decoder", target, memory, parameters, config, not_later, source_allowed, notes)

    # 3. generator
    logits, generator_saved = linear(
        notes.note("hidden", x), parameters["generator.weight"], parameters.get("generator.bias")
    )
    return notes.note("logits", logits), TransformerSaved(encoder_saved, decoder_saved, generator_saved)


def transformer_backward(
    grad: np.ndarray, saved: TransformerSaved, config: TransformerConfig, notes: Notes
) -> dict[str, np.ndarray]:
    """Return a gradient for each use of each parameter, by name; `sum_tied` adds up the uses of a shared parameter.

    Args:
        grad: dz, the gradient of the logits, [B, T, V].
        saved: values from the forward pass.
        config: model configuration.
        notes: receives a gradient for every result that the forward pass noted.
    """
    # 3. generator
    generator = linear_backward(notes.note("logits", grad), saved.generator)
    gradients = {"generator.weight": generator.weight}
    if config.output_bias:
        gradients["generator.bias"] = generator.bias

    # 2. decoder
    more, memory = _stack_backward("decoder", notes.note("hidden", generator.x), saved.decoder, notes)
    gradients |= more

    # 1. encoder: every decoder layer reads the encoder's output, so the gradients from all decoder layers add up.
    more, _ = _stack_backward("encoder", notes.note("memory", np.sum(memory, axis=0)), saved.encoder, notes)
    return gradients | more


def _stack(
    stack: Stack,
    ids: np.ndarray,
    memory: np.ndarray | None,
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    allowed: np.ndarray | None,
    memory_allowed: np.ndarray | None,
    notes: Notes,
) -> tuple[np.ndarray, StackSaved]:
    """Return a stack's output, [B, N, D], given token ids, [B, N], and all parameters of the model.

    The other arguments are as in `layer`.
    """
    side = SIDES[stack]
    x, embedding_saved = embedding(
        ids,
        parameters[f"{side}_embedding.weight"],
        added_positions(config, parameters, side, ids.shape[1]),
        config,
        notes.of(side),
    )
    x, embedding_norm = _normalised(side, x, parameters, there=config.embedding_norm)
    x = notes.of(side).note("input", x)
    layers = []
    for number in range(config.layers_of(stack)):
        name = f"{stack}_layers.{number}"
        x, saved = layer(x, memory, select(parameters, name), config, allowed, memory_allowed, notes.of(name))
        layers.append(saved)
    x, norm = _normalised(stack, x, parameters, there=config.norm == "pre")
    return x, StackSaved(embedding_saved, embedding_norm, tuple(layers), norm)


def _stack_backward(
    stack: Stack, grad: np.ndarray, saved: StackSaved, notes: Notes
) -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """Return the gradients of the parameters, and a gradient of the encoder output for each layer that reads it."""
    side, memory = SIDES[stack], []
    dx, gradients = _normalised_backward(stack, grad, saved.norm)
    for number, layer_saved in reversed(list(enumerate(saved.layers))):
        name = f"{stack}_layers.{number}"
        dx, more, of_memory = layer_backward(dx, layer_saved, notes.of(name))
        gradients |= prefix(name, more)
        if of_memory is not None:
            memory.append(of_memory)
    dx, more = _normalised_backward(side, notes.of(side).note("input", dx), saved.embedding_norm)
    embedded = embedding_backward(dx, saved.embedding, notes.of(side))
    return gradients | more | {f"{side}_{name}": each for name, each in embedded.items()}, memory


def with_tied(parameters: Mapping[str, np.ndarray], config: TransformerConfig) -> dict[str, np.ndarray]:
    """Return the parameters with an additional entry for each tied parameter."""
    return {**parameters, **{use: parameters[name] for use, name in SHARED_PARAMETERS[config.tied_embeddings].items()}}


def sum_tied(gradients: Mapping[str, np.ndarray], config: TransformerConfig) -> dict[str, np.ndarray]:
    """Return the gradient of each parameter. For a shared parameter, this is the sum over all uses.

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
    """Apply the layer norm called `name` to x, [B, N, D]; return x unchanged if the model does not have this norm."""
    if not there:
        return x, None
    return layer_norm(x, parameters[f"{name}_norm.weight"], parameters[f"{name}_norm.bias"])


def _normalised_backward(
    name: str, grad: np.ndarray, saved: LayerNormSaved | None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the gradients of a norm's input, [B, N, D], and of its weight and bias; without a norm, `grad` and {}."""
    if saved is None:
        return grad, {}
    gradients = layer_norm_backward(grad, saved)
    return gradients.x, {f"{name}_norm.weight": gradients.gain, f"{name}_norm.bias": gradients.bias}
