"""Computes the loss of a batch, and its gradient with respect to every parameter and intermediate result."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.cross_entropy import cross_entropy, cross_entropy_backward
from transformer.backpropagation.notes import Notes
from transformer.backpropagation.transformer import SHARED_PARAMETERS, sum_tied, transformer, transformer_backward
from transformer.config import TransformerConfig
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class LossInputs:
    """A batch for which to compute the loss.

    Attributes:
        source: token ids that the encoder reads, [B, S].
        target: token ids that the decoder reads, start symbol first, [B, T].
        labels: token ids that the decoder should predict, [B, T].
        counted: whether each position counts towards the loss, bool [B, T]; False for padding.
        source_mask: bool [B, S], False for padding; None if there is no padding.
        label_smoothing: fraction of the probability to spread over all tokens, at least 0 and below 1.
    """

    source: np.ndarray
    target: np.ndarray
    labels: np.ndarray
    counted: np.ndarray
    source_mask: np.ndarray | None = None
    label_smoothing: float = 0.0


@dataclass(frozen=True, eq=False)
class Gradients:
    """A loss with its intermediate results and gradients.

    Attributes:
        loss: loss summed over the positions at which `LossInputs.counted` is True, nats.
        values: every intermediate result, by name.
        gradients: gradient of the loss with respect to each intermediate result, under the names in `values`.
        uses: gradient with respect to every use of a parameter. A shared parameter has several uses.
        parameters: gradient with respect to every parameter. A shared parameter appears under its first name, with the
            sum over all uses.
    """

    loss: float
    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray]
    uses: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]


def parameters_of(weights: Weights) -> dict[str, np.ndarray]:
    """Return a model's parameters in float64; a shared parameter has one entry, under its first name."""
    tied = SHARED_PARAMETERS[weights.config.tied_embeddings]
    return {name: array.astype(np.float64) for name, array in weights.arrays.items() if name not in tied}


def loss(
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    batch: LossInputs,
    nudges: Mapping[str, np.ndarray] | None = None,
) -> float:
    """Compute the loss without gradients, in nats.

    Args:
        parameters: parameters by name, float64; a shared parameter has one entry.
        config: model configuration.
        batch: inputs of the loss.
        nudges: small arrays to add to intermediate results, by name.
    """
    logits, _ = transformer(parameters, config, batch.source, batch.target, batch.source_mask, Notes(nudges))
    return cross_entropy(logits, batch.labels, batch.counted, batch.label_smoothing)[0]


def gradients(parameters: Mapping[str, np.ndarray], config: TransformerConfig, batch: LossInputs) -> Gradients:
    """Run the forward pass and the backward pass, and return all gradients.

    Args:
        parameters: parameters by name, float64; a shared parameter has one entry.
        config: model configuration.
        batch: inputs of the loss.
    """
    values, backward = Notes(), Notes()
    logits, saved = transformer(parameters, config, batch.source, batch.target, batch.source_mask, values)
    loss, loss_saved = cross_entropy(logits, batch.labels, batch.counted, batch.label_smoothing)
    uses = transformer_backward(cross_entropy_backward(loss_saved), saved, config, backward)
    return Gradients(loss, values.values, backward.values, uses, sum_tied(uses, config))
