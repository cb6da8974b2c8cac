"""Optimiser for training: Muon and AdamW, with a shared learning rate and gradient clipping."""

import math

import torch
from torch import Tensor, nn

from transformer.model.positions import PositionalEncoding
from transformer.model.transformer import Transformer
from transformer.training.config import TrainConfig


class Optimizer:
    """Several torch optimisers for disjoint sets of parameters, with a common learning rate and gradient clipping.

    Args:
        model: model whose parameters are trained.
        config: training settings.
        parts: torch optimisers; None means the result of `muon_and_adamw`.
    """

    def __init__(
        self, model: Transformer, config: TrainConfig, parts: tuple[torch.optim.Optimizer, ...] | None = None
    ) -> None:
        self.parameters = list(model.parameters())
        self.peak, self.clip = config.learning_rate, config.clip
        self.parts = muon_and_adamw(model, config) if parts is None else parts

    def step(self, factor: float) -> float:
        """Clip the gradients, take a step at `factor` times the peak learning rate, and clear the gradients.

        Returns:
            Norm of the gradients before clipping. If the norm is not finite, no step is taken.
        """
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.clip))
        if not math.isfinite(norm):
            return norm
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = self.peak * factor
            part.step()
            part.zero_grad()
        return norm

    def state(self) -> dict[str, Tensor]:
        """Return the state of all torch optimisers as tensors by name."""
        return {
            f"{part}.{position}.{key}": value
            for part, optimizer in enumerate(self.parts)
            for position, parameter in enumerate(optimizer.param_groups[0]["params"])
            for key, value in optimizer.state[parameter].items()
        }

    def load_state(self, tensors: dict[str, Tensor]) -> None:
        """Restore a state returned by `state`."""
        for name, tensor in tensors.items():
            part, position, key = name.split(".")
            optimizer = self.parts[int(part)]
            parameter = optimizer.param_groups[0]["params"][int(position)]
            optimizer.state[parameter][key] = tensor.to(parameter.device)


def muon_and_adamw(model: Transformer, config: TrainConfig) -> tuple[torch.optim.Optimizer, ...]:
    """Return two optimisers: Muon for the matrices inside the layers, and AdamW for all other parameters.

    Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks") is designed for matrices that
    map activations to activations. Embeddings, learned positions, norms and biases are not such matrices. Muon's
    updates are scaled to the magnitude of AdamW's, so that one learning rate suits both (Liu et al. 2025, "Muon is
    Scalable for LLM Training", section 2.2).
    """
    embeddings = {
        id(p)
        for module in model.modules()
        if isinstance(module, nn.Embedding | PositionalEncoding)
        for p in module.parameters()
    } | {id(model.generator.weight)}
    matrices = [p for p in model.parameters() if p.ndim == 2 and id(p) not in embeddings]
    matrix_ids = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in matrix_ids]
    return (
        torch.optim.Muon(
            matrices, lr=config.learning_rate, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(rest, lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
    )
