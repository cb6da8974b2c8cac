"""The loss of a batch of sentence pairs, and its gradient with respect to every parameter and intermediate result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer.backpropagation.cross_entropy import cross_entropy, cross_entropy_backward
from transformer.backpropagation.notes import Notes
from transformer.backpropagation.transformer import TIED, sum_tied, transformer, transformer_backward
from transformer.config import TransformerConfig
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class LossInputs:
    """The inputs of a loss.

    Attributes:
        source: token ids [B, S].
        target: ids of the tokens that the decoder reads [B, T], the start symbol first.
        labels: ids of the tokens that it should predict [B, T].
        counted: bool [B, T]; True where the loss is added up, False on padding.
        source_mask: bool [B, S], False on padding; None if there is none.
        label_smoothing: from 0 to below 1.
    """

    source: np.ndarray
    target: np.ndarray
    labels: np.ndarray
    counted: np.ndarray
    source_mask: np.ndarray | None = None
    label_smoothing: float = 0.0


@dataclass(frozen=True, eq=False)
class Gradients:
    """A loss, its intermediate results and its gradients.

    Attributes:
        loss: summed over the positions that count, nats.
        values: every intermediate result by name.
        gradients: of the loss with respect to each intermediate result, by the same names.
        uses: gradients with respect to every use of a parameter.
        parameters: gradients with respect to every parameter; a shared one has its first name and the sum over its
            uses.
    """

    loss: float
    values: Mapping[str, np.ndarray]
    gradients: Mapping[str, np.ndarray]
    uses: Mapping[str, np.ndarray]
    parameters: Mapping[str, np.ndarray]


def parameters_of(weights: Weights) -> dict[str, np.ndarray]:
    """A model's parameters in float64, each once; a shared one has its first name."""
    tied = TIED[weights.config.tied_embeddings]
    return {name: array.astype(np.float64) for name, array in weights.arrays.items() if name not in tied}


def loss(
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    batch: LossInputs,
    nudges: Mapping[str, np.ndarray] | None = None,
) -> float:
    """The loss alone, in nats.

    Args:
        parameters: float64, by name, each once.
        nudges: numbers to add to some of the intermediate results, by name.
    """
    logits, _ = transformer(parameters, config, batch.source, batch.target, batch.source_mask, Notes(nudges))
    return cross_entropy(logits, batch.labels, batch.counted, batch.label_smoothing)[0]


def gradients(parameters: Mapping[str, np.ndarray], config: TransformerConfig, batch: LossInputs) -> Gradients:
    """Run the forward pass, then the backward pass.

    Args:
        parameters: float64, by name, each once.
    """
    values, backward = Notes(), Notes()
    logits, saved = transformer(parameters, config, batch.source, batch.target, batch.source_mask, values)
    found, loss_saved = cross_entropy(logits, batch.labels, batch.counted, batch.label_smoothing)
    uses = transformer_backward(cross_entropy_backward(loss_saved), saved, config, backward)
    return Gradients(found, values.values, backward.values, uses, sum_tied(uses, config))
