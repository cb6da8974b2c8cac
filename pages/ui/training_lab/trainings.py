"""The training runs of all users of this server: one per user, and few at once.

There is no thread. A training continues only while its page requests the next slice. When the user leaves the page,
closes the browser or loses the network, nothing runs, and nothing has to be stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from transformer.tasks.config import TaskConfig
from transformer.tasks.trainer import TaskTrainer

SEATS = 2
# The most training runs whose snapshots are kept, of 20 to 70 MB each at the largest settings of the page.
MAX_TRAININGS = 6
# A training that requested no slice for this many seconds counts as left.
PATIENCE = 8.0


class Person:
    """One browser tab. Its training is dropped with it."""


@dataclass(eq=False)
class Training:
    """A training, and whether it is to continue.

    Attributes:
        trainer: the learned state.
        running: it takes the next slice as soon as it may.
        number: the number of its start; smaller ones started before.
        asked: the time of its last request for a slice.
    """

    trainer: TaskTrainer
    running: bool = False
    number: int = 0
    asked: float = 0.0


class Trainings:
    """Training runs by user. Safe to share between threads.

    Args:
        seats: the most training runs at once.
        limit: the most training runs that are kept; the one viewed longest ago is dropped first.
        patience: in seconds.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        seats: int = SEATS,
        limit: int = MAX_TRAININGS,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seats, self.limit, self.patience = seats, limit, patience
        self._clock = clock
        # In the order in which they were last viewed.
        self._all: WeakKeyDictionary[Person, Training] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._started = 0

    def begin(self, person: Person, config: TaskConfig) -> Training:
        """Replace the user's last training with a new one, which does not run yet."""
        training = Training(TaskTrainer(config))
        with self._lock:
            self._all.pop(person, None)
            idle = [other for other, each in self._all.items() if not self._runs(each)]
            self._all[person] = training
            for other in idle[: max(0, len(self._all) - self.limit)]:
                del self._all[other]
        return training

    def of(self, person: Person) -> Training | None:
        """Return the user's training, paused if its page was left; None if it was dropped to make room for others."""
        with self._lock:
            training = self._all.pop(person, None)
            if training is not None:
                self._all[person] = training
                training.running = self._runs(training)
            return training

    def leave(self, person: Person) -> None:
        """Drop the user's training."""
        with self._lock:
            self._all.pop(person, None)

    def start(self, training: Training) -> None:
        """Let the training run as soon as there is a seat."""
        with self._lock:
            self._started += 1
            training.running, training.number, training.asked = True, self._started, self._clock()

    def has_seat(self, training: Training) -> bool:
        """Whether a training may take its next slice: it is among the earliest started ones that are still running."""
        with self._lock:
            training.asked = self._clock()
            running = sorted(each.number for each in self._all.values() if self._runs(each))
            return training.running and training.number in running[: self.seats]

    def _runs(self, training: Training) -> bool:
        return training.running and self._clock() - training.asked <= self.patience
