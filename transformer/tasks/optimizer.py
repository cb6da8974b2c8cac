"""Optimisers for task training runs, all of which implement `StepOptimizer`."""

import math

import torch
from torch import nn

from transformer.backpropagation.optimizers import Moments, adam
from transformer.model.transformer import Transformer
from transformer.tasks.config import TaskConfig
from transformer.training.optimizer import Optimizer
from transformer.training.steps import StepOptimizer

BETAS = (0.9, 0.98)


class AdamByHand:
    """The float64 Adam of `transformer.backpropagation.optimizers`, applied to gradients from autograd."""

    def __init__(self, model: Transformer, config: TaskConfig) -> None:
        self.model = model
        self.peak, self.clip = config.learning_rate, config.training.clip
        self.moments = Moments()
        self.values = {name: each.detach().double().numpy().copy() for name, each in model.named_parameters()}

    def step(self, factor: float) -> float:
        norm = float(nn.utils.clip_grad_norm_(self.model.parameters(), self.clip))
        if not math.isfinite(norm):
            return norm
        parameters = dict(self.model.named_parameters())
        gradients = {name: each.grad.double().numpy() for name, each in parameters.items() if each.grad is not None}
        self.values, self.moments = adam(
            self.values, gradients, self.moments, learning_rate=self.peak * factor, betas=BETAS
        )
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(torch.from_numpy(self.values[name]))
        self.model.zero_grad()
        return norm


def optimizer(model: Transformer, config: TaskConfig) -> StepOptimizer:
    """Return the optimiser named in the configuration."""
    if config.optimizer == "adam-by-hand":
        return AdamByHand(model, config)
    adam = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, betas=BETAS, eps=1e-9, weight_decay=config.weight_decay
    )
    return Optimizer(model, config.training, (adam,) if config.optimizer == "adam" else None)
