"""The training runs of all users of the server: one per browser tab, of which only a few run at once.

There are no training threads. A training run only continues when its page requests the next time slice. If the user
leaves the page, closes the browser or loses the network, the run simply stops, and nothing needs to be cleaned up.
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
# Maximum number of training runs in memory. With the page's largest settings, each takes 20 to 70 MB.
MAX_TRAININGS = 6
# Seconds without a request after which a training run counts as abandoned.
ABANDONED_AFTER = 8.0


class BrowserTab:
    """A browser tab, used as a weak key: when the tab's session ends, its training run is dropped."""


@dataclass(eq=False)
class Training:
    """A training run, and whether it should continue.

    Attributes:
        trainer: the trainer, which holds the model.
        running: whether the run continues whenever it gets a time slice.
        number: the rank in order of starting; runs with smaller numbers started earlier.
        asked: the time of the last request for a time slice, in seconds.
    """

    trainer: TaskTrainer
    running: bool = False
    number: int = 0
    asked: float = 0.0


class Trainings:
    """Registry of training runs, one per browser tab; thread-safe.

    Args:
        max_active: the maximum number of training runs that run at once.
        limit: the maximum number of training runs to keep; the one viewed longest ago is dropped first.
        patience: the seconds without a request after which a training run counts as abandoned.
        clock: returns the time in seconds.
    """

    def __init__(
        self,
        max_active: int = MAX_ACTIVE,
        limit: int = MAX_TRAININGS,
        patience: float = ABANDONED_AFTER,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_active, self.limit, self.patience = max_active, limit, patience
        self._clock = clock
        # Ordered by when they were last viewed, the oldest first.
        self._all: WeakKeyDictionary[BrowserTab, Training] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._started = 0

    def begin(self, tab: BrowserTab, config: TaskConfig) -> Training:
        """Replace the tab's training run with a new one that has not started."""
        training = Training(TaskTrainer(config))
        with self._lock:
            self._all.pop(tab, None)
            idle = [other for other, each in self._all.items() if not self._runs(each)]
            self._all[tab] = training
            for other in idle[: max(0, len(self._all) - self.limit)]:
                del self._all[other]
        return training

    def of(self, tab: BrowserTab) -> Training | None:
        """Return the tab's training run, paused if the user had left the page; None if there is none."""
        with self._lock:
            training = self._all.pop(tab, None)
            if training is not None:
                self._all[tab] = training
                training.running = self._runs(training)
            return training

    def leave(self, tab: BrowserTab) -> None:
        """Drop the tab's training run."""
        with self._lock:
            self._all.pop(tab, None)

    def start(self, training: Training) -> None:
        """Mark a training run as running; it continues as soon as it is among the earliest started ones."""
        with self._lock:
            self._started += 1
            training.running, training.number, training.asked = True, self._started, self._clock()

    def is_active(self, training: Training) -> bool:
        """Return whether a training run may take a time slice, because only the earliest started runs may."""
        with self._lock:
            training.asked = self._clock()
            running = sorted(each.number for each in self._all.values() if self._runs(each))
            return training.running and training.number in running[: self.max_active]

    def _runs(self, training: Training) -> bool:
        return training.running and self._clock() - training.asked <= self.patience
