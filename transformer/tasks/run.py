"""The result of a run: its losses, and snapshots of the model with everything that a figure of that moment needs.

Letters: P parameters, L layers, H heads, S source tokens, T target tokens, both with start or end symbol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from transformer.tasks.config import TaskConfig
from transformer.tasks.task import Item
from transformer.values.kinds import Kind


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The model after a step.

    Attributes:
        step: number of the step; 0 before the first.
        weights: all parameters in the model's order, float16 [P]; None if a file has left them out.
        held_out_loss: mean over the tokens of the held-out items, nats.
        exact_match: share of the held-out items that the model answers without a mistake.
        training_match: the same for the items that training draws from, or for a few of them if they are unlimited.
        attention: weights for the item of the run, while the decoder reads the right answer, by kind; float16
            [L, H, rows, columns].
        scores: scores of every head over held-out items, by name (`transformer.tasks.scores.SCORES`) and kind: [L, H].
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


@dataclass(frozen=True, eq=False)
class TaskRun:
    """A training and its results so far.

    Attributes:
        config: training settings.
        item: the item whose attention the snapshots have.
        losses: mean over the tokens of each step's items, nats, float32 [steps taken].
        snapshots: ordered by step; the first is of step 0.
        seconds: duration of the steps and snapshots.
    """

    config: TaskConfig
    item: Item
    losses: np.ndarray
    snapshots: tuple[Snapshot, ...]
    seconds: float

    @property
    def step(self) -> int:
        """Number of steps taken."""
        return len(self.losses)

    @property
    def finished(self) -> bool:
        return self.step == self.config.steps

    def index_at(self, step: int) -> int:
        """The index of the snapshot to show after a step: the last one that is not later."""
        return max(0, sum(snapshot.step <= step for snapshot in self.snapshots) - 1)

    def with_weights(self, index: int) -> Snapshot:
        """The nearest snapshot that has the model's weights."""
        kept = [snapshot for snapshot in self.snapshots if snapshot.weights is not None]
        return min(kept, key=lambda snapshot: abs(snapshot.step - self.snapshots[index].step))
