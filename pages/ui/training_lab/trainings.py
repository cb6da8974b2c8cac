"""The training runs of all users of this server: one per user, and only a few at once.

There are no training threads. A training run continues only while its page requests the next slice. When the user
leaves the page, closes the browser or loses the network, nothing runs, so nothing has to be stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from transformer.tasks.config import TaskConfig
from transformer.tasks.trainer import TaskTrainer

MAX_ACTIVE = 2
# The maximum number of training runs in memory; at the largest settings of the page, each takes 20 to 70 MB.
MAX_TRAININGS = 6
# Seconds without a request for a slice after which a training run counts as abandoned.
PATIENCE = 8.0


class BrowserTab:
    """A browser tab; its training run is dropped together with it."""


@dataclass(eq=False)
class Training:
    """A training run, and whether it should continue.

    Attributes:
        trainer: the trainer, with the learned state.
        running: whether the run takes its next slice as soon as it may.
        number: the order in which runs were started; smaller numbers started earlier.
        asked: the time of the last request for a slice.
    """

    trainer: TaskTrainer
    running: bool = False
    number: int = 0
    asked: float = 0.0


class Trainings:
    """The training runs by user; thread-safe.

    Args:
        max_active: the maximum number of training runs that are active at once.
        limit: the maximum number of training runs that are kept; the one viewed longest ago is dropped first.
        patience: the number of seconds without a request after which a run counts as abandoned.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        max_active: int = MAX_ACTIVE,
        limit: int = MAX_TRAININGS,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_active, self.limit, self.patience = max_active, limit, patience
        self._clock = clock
        # Ordered by the time at which they were last viewed.
        self._all: WeakKeyDictionary[BrowserTab, Training] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._started = 0

    def begin(self, tab: BrowserTab, config: TaskConfig) -> Training:
        """Replace the user's last training run with a new one that has not started."""
        training = Training(TaskTrainer(config))
        with self._lock:
            self._all.pop(tab, None)
            idle = [other for other, each in self._all.items() if not self._runs(each)]
            self._all[tab] = training
            for other in idle[: max(0, len(self._all) - self.limit)]:
                del self._all[other]
        return training

    def of(self, tab: BrowserTab) -> Training | None:
        """Return the user's training, paused if its page was left; None if it was dropped to make room for others."""
        with self._lock:
            training = self._all.pop(tab, None)
            if training is not None:
                self._all[tab] = training
                training.running = self._runs(training)
            return training

    def leave(self, tab: BrowserTab) -> None:
        """Drop the user's training."""
        with self._lock:
            self._all.pop(tab, None)

    def start(self, training: Training) -> None:
        """Mark the training run as running; it continues as soon as a seat is free."""
        with self._lock:
            self._started += 1
            training.running, training.number, training.asked = True, self._started, self._clock()

    def has_seat(self, training: Training) -> bool:
        """Whether a training may take its next slice: it is among the earliest started ones that are still running."""
        with self._lock:
            training.asked = self._clock()
            running = sorted(each.number for each in self._all.values() if self._runs(each))
            return training.running and training.number in running[: self.max_active]

    def _runs(self, training: Training) -> bool:
        return training.running and self._clock() - training.asked <= self.patience
