"""Training steps for any model: gradient of the mean loss, learning-rate schedule, and optimiser step."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Protocol

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from transformer.errors import AtlasError
from transformer.training.batching import Batch
from transformer.training.distributed import Process
from transformer.training.schedule import trapezoid

SINGLE_PROCESS = Process(0, 1, torch.device("cpu"))


class DivergedError(AtlasError):
    """The loss, the gradient or the weights are not finite."""


class Schedule(Protocol):
    """Settings of the learning-rate schedule, named as in `trapezoid`."""

    @property
    def steps(self) -> int: ...

    @property
    def warmup(self) -> int: ...

    @property
    def cooldown(self) -> float: ...


class StepOptimizer(Protocol):
    """Interface of an optimiser, such as `transformer.training.optimizer.Optimizer`."""

    def step(self, factor: float) -> float:
        """Clip the gradients, take a step at `factor` times the peak learning rate, and clear the gradients.

        Returns:
            Norm of the gradients before clipping.
        """
        ...


class Steps:
    """Takes training steps with a model.

    Args:
        objective: module that returns the loss of a `Batch` in nats, summed over the tokens. If there are several
            processes, it must be wrapped in `DistributedDataParallel`.
        optimizer: optimiser for the model's parameters.
        schedule: settings of the learning-rate schedule.
        process: this process and its device.
        mixed: whether to multiply matrices in bfloat16.
    """

    def __init__(
        self,
        objective: nn.Module,
        optimizer: StepOptimizer,
        schedule: Schedule,
        process: Process = SINGLE_PROCESS,
        *,
        mixed: bool = False,
    ) -> None:
        self.objective, self.optimizer, self.schedule = objective, optimizer, schedule
        self.process, self.mixed = process, mixed

    def take(self, step: int, batches: Sequence[Batch], tokens: int) -> tuple[float, float]:
        """Take one optimiser step.

        Args:
            step: 0-based number of the step.
            batches: batches for this process.
            tokens: number of tokens to predict in the batches of all processes.

        Returns:
            The loss in nats, summed over the tokens of all processes, and the norm of the gradient.

        Raises:
            DivergedError: the loss or the gradient is not finite; the weights stay unchanged.
        """
        self.objective.train()
        total = 0.0
        for number, batch in enumerate(batches, start=1):
            total += self._add_gradient(batch, tokens, last=number == len(batches))
        total = self.process.sum(total)
        if not math.isfinite(total):
            raise DivergedError(f"the loss of step {step + 1} is {total}")
        schedule = self.schedule
        norm = self.optimizer.step(
            trapezoid(step, steps=schedule.steps, warmup=schedule.warmup, cooldown=schedule.cooldown)
        )
        if not math.isfinite(norm):
            raise DivergedError(f"the gradient norm of step {step + 1} is {norm}")
        return total, norm

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.process.device.type, torch.bfloat16, enabled=self.mixed)

    def _add_gradient(self, batch: Batch, tokens: int, *, last: bool) -> float:
        """Add one batch's contribution to the gradient of the mean loss; return the batch's summed loss in nats."""
        # Processes exchange gradients only after a step's last batch.
        objective = self.objective
        waiting = objective.no_sync() if isinstance(objective, DistributedDataParallel) and not last else nullcontext()
        with torch.enable_grad(), waiting:
            with self.autocast():
                loss = objective(batch.to(self.process.device))
            # Add this batch's part to the gradient of the mean loss over the tokens of all processes.
            # DistributedDataParallel divides gradients by the number of processes, so multiply the loss by that number.
            (loss * self.process.count / tokens).backward()
        return float(loss.detach())
