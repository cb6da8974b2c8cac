"""Computes a sentence pair's gradients with the hand-written backward pass and with autograd, for comparison."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.attention import join_heads
from transformer.backpropagation.autograd import autograd
from transformer.backpropagation.gradients import LossInputs, gradients, parameters_of
from transformer.config import TransformerConfig
from transformer.values.cancellation import check_cancelled
from transformer.values.trace import Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class SentenceGradients:
    """Gradients of one loss.

    One encoder layer and one decoder layer are stored completely. For the other layers, only the residual
    stream's gradients and the norms of the parameter gradients are stored.

    Attributes:
        config: model configuration.
        batch: the sentence pair, as a batch of one.
        loss: the loss, nats.
        layers: 0-based indices of the stored encoder layer and decoder layer.
        rows: token ids of the stored rows, for each parameter with one row per vocabulary token.
        generator: weights W of the generator, float32 [V, D].
        values: parameters and intermediate results by name, float64.
        gradients: gradients from the hand-written backward pass, under the names in `values`.
        reference: gradients from autograd, under the names in `values`.
        memory_gradients: gradient of the encoder output from each decoder layer, [L, S, D].
        sizes: Euclidean norm of every parameter's gradient, by parameter name.
        compared: number of gradient values that were compared with autograd.
        largest_difference: largest absolute difference from autograd.
    """

    config: TransformerConfig
    batch: LossInputs
    loss: float
    layers: tuple[int, int]
    rows: Mapping[str, tuple[int, ...]]
    generator: np.ndarray
    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray]
    reference: Mapping[str, np.ndarray]
    memory_gradients: np.ndarray
    sizes: Mapping[str, float]
    compared: int
    largest_difference: float


def sentence_batch(trace: Trace, *, step: int | None = None, label_smoothing: float = 0.0) -> LossInputs:
    """Build a training batch from a trace's sentence and translation.

    Args:
        trace: trace of a sentence and its translation.
        step: the only decoding step that counts towards the loss, 0-based; None counts all steps.
        label_smoothing: fraction of the probability to spread over all tokens, at least 0 and below 1.
    """
    source, target, labels = (
        np.array([[token.id for token in tokens]])
        for tokens in (trace.source_tokens, trace.target_tokens, trace.predicted_tokens)
    )
    counted = np.ones(labels.shape, dtype=bool)
    if step is not None:
        counted[:] = np.arange(labels.shape[1]) == step
    return LossInputs(source, target, labels, counted, label_smoothing=label_smoothing)


def sentence_gradients(
    weights: Weights, batch: LossInputs, *, encoder_layer: int = 0, decoder_layer: int = 0
) -> SentenceGradients:
    """Compute all gradients with the hand-written backward pass and with autograd, and store those of two layers.

    Args:
        weights: weights of the model.
        batch: batch of one sentence pair.
        encoder_layer, decoder_layer: 0-based layers to store.
    """
    config, parameters = weights.config, parameters_of(weights)
    assert config.encoder_layers, "a language model has no sentence pairs"
    computed = gradients(parameters, config, batch)
    check_cancelled()
    reference = autograd(parameters, config, batch)
    check_cancelled()
    by_hand = {**computed.parameters, **computed.gradients}
    theirs = {**reference.parameters, **reference.gradients}
    apart = max(float(np.abs(each - theirs[name]).max()) for name, each in by_hand.items())

    rows = _vocabulary_rows(parameters, batch, config)

    def stored(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        selected = {name: arrays[name] for name in _names(arrays, encoder_layer, decoder_layer)}
        return {name: each[list(rows[name])] if name in rows else each for name, each in selected.items()}

    return SentenceGradients(
        config=config,
        batch=batch,
        loss=computed.loss,
        layers=(encoder_layer, decoder_layer),
        rows=rows,
        generator=weights.arrays["generator.weight"],
        values=stored({**parameters, **computed.values}),
        gradients=stored(by_hand),
        reference=stored(theirs),
        memory_gradients=_memory_gradients(parameters, computed.gradients, config),
        sizes={name: float(np.linalg.norm(each)) for name, each in computed.parameters.items()},
        compared=sum(each.size for each in by_hand.values()),
        largest_difference=apart,
    )


def _vocabulary_rows(
    parameters: Mapping[str, np.ndarray], batch: LossInputs, config: TransformerConfig
) -> dict[str, tuple[int, ...]]:
    """Return the token ids of the rows to store, for each parameter with one row per vocabulary token."""
    source, target = {*batch.source.flat}, {*batch.target.flat, *batch.labels.flat}
    shared = source | target if config.tied_embeddings == "all" else source
    ids = {
        "source_embedding.weight": shared,
        "target_embedding.weight": target,
        "generator.weight": target,
        "generator.bias": target,
    }
    return {name: tuple(sorted(map(int, each))) for name, each in ids.items() if name in parameters}


def _names(arrays: Iterable[str], encoder_layer: int, decoder_layer: int) -> list[str]:
    """Return the names of the arrays to store: those in the two layers, those outside layers, and residual streams."""
    layers = (f"encoder_layers.{encoder_layer}.", f"decoder_layers.{decoder_layer}.")
    return [name for name in arrays if name.startswith(layers) or "_layers." not in name or name.endswith(".after")]


def _memory_gradients(
    parameters: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray], config: TransformerConfig
) -> np.ndarray:
    """Return the gradient that each decoder layer's keys and values send back to the encoder output, [L, S, D]."""
    layer_gradients = []
    for number in range(config.decoder_layers):
        name = f"decoder_layers.{number}.cross_attention"
        _, key, value = np.split(parameters[f"{name}.in_projection.weight"], 3)
        layer_gradients.append(
            sum(
                (join_heads(gradients[f"{name}.{each}"]) @ weight)[0]
                for each, weight in (("keys", key), ("values", value))
            )
        )
    return np.array(layer_gradients)
