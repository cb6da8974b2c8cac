"""Measures gradient norms per layer, to compare pre-norm with post-norm models.

Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3, compare models before training.
In a post-norm model, the last layers have the largest gradients, so training needs a warm-up. In a pre-norm model, all
layers have similar gradients.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from transformer.backpropagation.gradients import LossInputs, gradients
from transformer.config import NormPlacement, TransformerConfig
from transformer.model.transformer import build
from transformer.values.trace import PARTS, STACKS, Stack


@dataclass(frozen=True, eq=False)
class GradientSizes:
    """Euclidean norms of the gradients of one loss.

    Attributes:
        loss: the loss, nats.
        stream: norm of the residual stream's gradient, before each stack's first sub-layer and after each sub-layer,
            averaged over the positions, [2L + 1] for the encoder and [3L + 1] for the decoder.
        network: norm of the gradient of each feed-forward network's second matrix, [L], as in Xiong et al.
    """

    loss: float
    stream: Mapping[Stack, np.ndarray]
    network: Mapping[Stack, np.ndarray]


def gradient_sizes(parameters: Mapping[str, np.ndarray], config: TransformerConfig, batch: LossInputs) -> GradientSizes:
    """Measure a model's gradient norms; `parameters` must be float64."""
    computed = gradients(parameters, config, batch)
    stream, network = {}, {}
    for stack, side, depth in zip(
        STACKS, ("source", "target"), (config.encoder_layers, config.decoder_layers), strict=True
    ):
        names = [
            f"{side}.input",
            *(f"{stack}_layers.{layer}.{part}.after" for layer in range(depth) for part in PARTS[stack]),
        ]
        stream[stack] = np.array([np.linalg.norm(computed.gradients[name], axis=-1).mean() for name in names])
        network[stack] = np.array(
            [
                np.linalg.norm(computed.parameters[f"{stack}_layers.{layer}.feed_forward.contract.weight"])
                for layer in range(depth)
            ]
        )
    return GradientSizes(computed.loss, stream, network)


def initial_gradient_sizes(
    config: TransformerConfig, norm: NormPlacement, batch: LossInputs, *, seed: int = 0
) -> GradientSizes:
    """Measure a model's gradient norms at random initial weights.

    Args:
        config: model configuration, whose norm placement is ignored.
        norm: norm placement to use instead.
        batch: inputs of the loss.
        seed: seed for the weights; with the same seed, pre-norm and post-norm models get the same weights.
    """
    placed = replace(config, norm=norm)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(placed)
    parameters = {name: each.detach().double().numpy() for name, each in model.named_parameters()}
    return gradient_sizes(parameters, placed, batch)
