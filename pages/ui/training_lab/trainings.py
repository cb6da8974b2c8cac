"""Registry of all users' training runs: one per browser tab, with a limit on how many run at once.

There are no training threads. A training run continues only when its page requests the next time slice. If the user
leaves the page, closes the browser or loses the connection, the run simply stops, and nothing needs to be cleaned up.
"""

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
    """A browser tab. It is a key in a `WeakKeyDictionary`, so its training run is dropped when the session ends."""


@dataclass(eq=False)
class Training:
    """A training run, and whether it should continue.

    Attributes:
        trainer: the trainer, which contains the model.
        running: whether to continue in the next time slice.
        number: a serial number; training runs with smaller numbers were started earlier.
        asked: the time of the last request for a time slice, in seconds.
    """

    trainer: TaskTrainer
    running: bool = False
    number: int = 0
    asked: float = 0.0


class Trainings:
    """Registry of training runs, one per browser tab; thread-safe.

    Args:
        max_active: the maximum number of simultaneous training runs.
        limit: the number of training runs above which idle ones are dropped, the least recently viewed one first.
        patience: the number of seconds without a request after which a training run counts as abandoned.
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
        # The training runs, the least recently viewed one first.
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
        """Return the tab's training run; None if the tab has none. If the run was abandoned, pause it."""
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
        """Mark a training run as running; the `max_active` runs that were started earliest get time slices."""
        with self._lock:
            self._started += 1
            training.running, training.number, training.asked = True, self._started, self._clock()

    def is_active(self, training: Training) -> bool:
        """Record a request for a time slice, and return whether it is granted.

        Of the training runs in progress, only the `max_active` that were started first get time slices.
        """
        with self._lock:
            training.asked = self._clock()
            running = sorted(each.number for each in self._all.values() if self._runs(each))
            return training.running and training.number in running[: self.max_active]

    def _runs(self, training: Training) -> bool:
        return training.running and self._clock() - training.asked <= self.patience
