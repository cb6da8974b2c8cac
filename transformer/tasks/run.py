"""Results of a task training run: losses, and snapshots with all data for the figures.

Letters: P parameters, L layers, H heads, S source tokens, T target tokens. S and T include the start or end symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass

import numpy as np

from transformer.tasks.config import TaskConfig
from transformer.tasks.task import Item
from transformer.values.kinds import Kind


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Weights and measurements of the model after one step.

    Attributes:
        step: number of the step; 0 is before the first step.
        weights: all parameters in the model's order, float16 [P]; None if the file does not contain them.
        held_out_loss: loss on the held-out items, mean over their tokens, nats.
        exact_match: share of the held-out items that the model answers without an error, 0 to 1.
        training_match: share of the training items, or of a sample if there are too many, answered without an error.
        attention: attention weights on the run's item with teacher forcing, by attention kind; float16
            [L, H, rows, columns].
        scores: scores of every head on held-out items, by name (`transformer.tasks.scores.SCORES`) and kind, [L, H].
        spectrum: norm of each frequency in the embeddings of the numbers (`transformer.tasks.spectrum`), float32 [F];
            None for tasks that are not modular.
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
    """Base class that counts the steps of a training run by their losses."""

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
        config: settings of the run.
        item: item whose attention is in the snapshots.
        losses: loss at each step, mean over the tokens of its items, nats, float32 [steps taken].
        snapshots: snapshots ordered by step; the first is at step 0.
        seconds: time that steps and snapshots took, in seconds.
    """

    config: TaskConfig
    item: Item
    losses: np.ndarray
    snapshots: tuple[Snapshot, ...]
    seconds: float

    def index_at(self, step: int) -> int:
        """Return the index of the last snapshot that is not later than a step; a figure for that step shows it."""
        return max(0, sum(snapshot.step <= step for snapshot in self.snapshots) - 1)

    def with_weights(self, index: int) -> Snapshot:
        """Return the snapshot with weights that is nearest in steps to a given snapshot."""
        with_weights = [snapshot for snapshot in self.snapshots if snapshot.weights is not None]
        return min(with_weights, key=lambda snapshot: abs(snapshot.step - self.snapshots[index].step))
