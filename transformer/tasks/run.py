"""Results of a task training run: losses, and snapshots with all data for the figures.

Dimensions: P parameters, L layers, H heads, S source tokens, T target tokens. S and T include the start or end symbol.
"""

from collections.abc import Mapping, Sized
from dataclasses import dataclass

import numpy as np

from transformer.tasks.config import TaskConfig
from transformer.tasks.task import Item
from transformer.values.kinds import Kind


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The model's weights and measurements after a training step.

    Attributes:
        step: number of steps taken; 0 is the untrained model.
        weights: all parameters in the model's order, float16 [P]; None if the weights were not saved.
        held_out_loss: mean loss per token on the held-out items, nats.
        exact_match: share of the held-out items answered without an error, 0 to 1.
        training_match: share of the training items, or of a sample if there are too many, answered without an error.
        attention: attention weights on `TaskRun.item` with teacher forcing, by attention kind; float16 [L, H, rows,
            columns].
        scores: score of every head on held-out items, by score name (`transformer.tasks.scores.SCORES`) and attention
            kind, [L, H].
        spectrum: strength of each frequency in the number embeddings (`transformer.tasks.spectrum`), float32 [F]; None
            for tasks that are not modular.
    """

    step: int
    weights: np.ndarray | None
    held_out_loss: float
    exact_match: float
    training_match: float
    attention: Mapping[Kind, np.ndarray]
    scores: Mapping[str, Mapping[Kind, np.ndarray]]
    spectrum: np.ndarray | None = None


class StepCount:
    """Base class that derives a training run's number of steps from the number of losses."""

    config: TaskConfig
    losses: Sized

    @property
    def step(self) -> int:
        """Number of steps taken."""
        return len(self.losses)

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps


@dataclass(frozen=True, eq=False)
class TaskRun(StepCount):
    """A training run, finished or not.

    Attributes:
        config: settings of the training run.
        item: item whose attention weights the snapshots record.
        losses: mean loss per token at each step, nats, float32 [steps taken].
        snapshots: snapshots ordered by step, beginning with step 0.
        seconds: time spent on steps and snapshots, in seconds.
    """

    config: TaskConfig
    item: Item
    losses: np.ndarray
    snapshots: tuple[Snapshot, ...]
    seconds: float

    def index_at(self, step: int) -> int:
        """Return the index of the last snapshot taken at or before `step`, for figures that show that step."""
        return max(0, sum(snapshot.step <= step for snapshot in self.snapshots) - 1)

    def with_weights(self, index: int) -> Snapshot:
        """Return the snapshot with weights whose step is nearest to that of snapshot `index`."""
        with_weights = [snapshot for snapshot in self.snapshots if snapshot.weights is not None]
        return min(with_weights, key=lambda snapshot: abs(snapshot.step - self.snapshots[index].step))
