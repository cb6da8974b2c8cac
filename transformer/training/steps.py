"""Takes the steps of any training: the gradient of a mean loss, the schedule, and the optimiser."""

from __future__ import annotations

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

ALONE = Process(0, 1, torch.device("cpu"))


class DivergedError(AtlasError):
    """The loss, its gradient or the weights are no longer finite numbers."""


class Schedule(Protocol):
    """The schedule of the learning rate, such as `trapezoid`."""

    @property
    def steps(self) -> int: ...

    @property
    def warmup(self) -> int: ...

    @property
    def cooldown(self) -> float: ...


class StepOptimizer(Protocol):
    """An optimiser, such as `transformer.training.optimizer.Optimizer`."""

    def step(self, factor: float) -> float:
        """Clip, take a step at `factor` times the peak learning rate, and clear the gradients; return their norm."""
        ...


class Steps:
    """Takes steps with a model.

    Args:
        objective: the loss of a `Batch`, summed over its tokens, in nats; in several processes a
            `DistributedDataParallel` of it.
        optimizer: optimiser of the model.
        schedule: schedule of the learning rate.
        process: this process and its device.
        mixed: multiply matrices in bfloat16.
    """

    def __init__(
        self,
        objective: nn.Module,
        optimizer: StepOptimizer,
        schedule: Schedule,
        process: Process = ALONE,
        *,
        mixed: bool = False,
    ) -> None:
        self.objective, self.optimizer, self.schedule = objective, optimizer, schedule
        self.process, self.mixed = process, mixed

    def take(self, step: int, batches: Sequence[Batch], tokens: int) -> tuple[float, float]:
        """One step of the optimiser.

        Args:
            step: its number, from 0.
            batches: batches that this process learns from.
            tokens: number of tokens to predict in the batches of all processes.

        Returns:
            The loss of all processes, summed over the tokens, in nats, and the norm of the gradient.

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
            raise DivergedError(f"the gradient of step {step + 1} has the norm {norm}")
        return total, norm

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.process.device.type, torch.bfloat16, enabled=self.mixed)

    def _add_gradient(self, batch: Batch, tokens: int, *, last: bool) -> float:
        """Add a batch's contribution to the gradient of the mean loss, and return its summed loss."""
        # Processes exchange their gradients once per step, with the last batch.
        objective = self.objective
        waiting = objective.no_sync() if isinstance(objective, DistributedDataParallel) and not last else nullcontext()
        with torch.enable_grad(), waiting:
            with self.autocast():
                loss = objective(batch.to(self.process.device))
            # The mean is over the tokens of all processes. DistributedDataParallel divides by the number of processes,
            # hence the factor.
            (loss * self.process.count / tokens).backward()
        return float(loss.detach())
