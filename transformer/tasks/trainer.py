"""Trains a model on a task, a few steps at a time. In between, a page can show progress or stop the training, and
other users can run models.
"""

import math
import threading
import time

import numpy as np
import torch

from transformer.errors import TaskError
from transformer.model.transformer import Transformer, build
from transformer.tasks.config import TaskConfig
from transformer.tasks.items import Items
from transformer.tasks.measurement import measure
from transformer.tasks.optimizer import optimizer
from transformer.tasks.registry import task_named
from transformer.tasks.run import Snapshot, StepCount, TaskRun
from transformer.tasks.task import Item
from transformer.training.loss import SummedLoss
from transformer.training.steps import DivergedError, Steps

# Number of training items on which to test a snapshot if a task has too many items to list.
TESTED_ITEMS = 64
# Lock for torch's global random number generator, which all threads share and which provides the initial weights.
SEED_LOCK = threading.Lock()


def seeded_model(config: TaskConfig) -> Transformer:
    """Return an untrained model, initialised from the seed without changing torch's global random state."""
    with SEED_LOCK, torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return build(config.model)


class TaskTrainer(StepCount):
    """Trains a small `Transformer` on a task with `SummedLoss` and `Steps`, which also train translation models.

    A step's items and learning rate depend only on the configuration and the step number. The number of steps per
    call of `advance` therefore does not affect the result. Training advances only inside `advance`. A trainer is not
    thread-safe.

    Args:
        config: settings of the training run.
        watched: item, as a user types it, for which every snapshot records the attention weights; None means the
            held-out item with the longest source.

    Raises:
        TaskError: `watched` is not an item of the task.
    """

    def __init__(self, config: TaskConfig, watched: str | None = None) -> None:
        self.config = config
        self.task = task_named(config.task)
        self.items = Items(self.task, config.seed)
        self.watched: Item = (
            max(self.items.held_out, key=lambda item: len(item.source)) if watched is None else self.task.parse(watched)
        )
        self._seen = self.items.trained or self.items.training(0, TESTED_ITEMS)
        self._moments = frozenset(config.snapshot_steps)
        self.reset()

    def reset(self) -> None:
        """Discard all results, and return to the initial weights."""
        self.model = seeded_model(self.config)
        loss = SummedLoss(self.model, label_smoothing=0.0)
        self.steps = Steps(loss, optimizer(self.model, self.config), self.config.training)
        self.losses: list[float] = []
        self.snapshots: list[Snapshot] = []
        self.seconds = 0.0
        self._take_snapshot()

    def advance(self, *, steps: int | None = None, seconds: float = math.inf) -> int:
        """Train until `steps` steps are taken, `seconds` have passed, or training is finished.

        Args:
            steps: maximum number of steps; None sets no limit.
            seconds: time after which no further step begins, checked after each step.

        Returns:
            Number of steps taken in this call.

        Raises:
            TaskError: training diverged: a loss or the gradient is not finite, or a weight is too large for float16.
                Results of earlier steps are kept.
        """
        started, before = time.monotonic(), self.step
        last = self.config.steps if steps is None else min(self.config.steps, before + steps)
        try:
            while self.step < last:
                self._take_step()
                if self.step in self._moments:
                    self._take_snapshot()
                if time.monotonic() - started >= seconds:
                    break
        finally:
            self.seconds += time.monotonic() - started
        return self.step - before

    def run(self) -> TaskRun:
        """Return the results so far, as a value that later steps do not change."""
        return TaskRun(
            self.config, self.watched, np.array(self.losses, dtype=np.float32), tuple(self.snapshots), self.seconds
        )

    def _take_step(self) -> None:
        batch = self.items.batch(self.items.training(self.step, self.config.items))
        try:
            total, _ = self.steps.take(self.step, [batch], batch.tokens)
        except DivergedError as error:
            raise self._diverged(self.step + 1) from error
        self.losses.append(total / batch.tokens)

    def _take_snapshot(self) -> None:
        self.model.eval()
        measurement = measure(self.model, self.items, self._seen, self.watched)
        if not math.isfinite(measurement.held_out_loss):
            raise self._diverged(self.step)
        weights = np.concatenate([parameter.detach().numpy().ravel() for parameter in self.model.parameters()])
        if np.abs(weights).max() > np.finfo(np.float16).max:
            raise self._diverged(self.step)
        self.snapshots.append(Snapshot(step=self.step, weights=weights.astype(np.float16), **vars(measurement)))

    def _diverged(self, step: int) -> TaskError:
        return TaskError(f"the training diverged at step {step}: start again with a lower --learning-rate")
