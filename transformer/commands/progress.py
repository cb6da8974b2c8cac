"""Reports a long measurement's progress on the terminal, and handles Ctrl-C."""

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from transformer.measurements.corpus import sentences_of


class ProgressReport:
    """Prints the speed and the remaining time of a measurement over many sentences."""

    EVERY = 10.0

    def __init__(self, sentences: Path, processes: int) -> None:
        self._sentences = sentences
        self._said = 0.0
        # The time of each of the first `processes` reports, and the number of sentences read by then. The speed leaves
        # these sentences out: an interrupted earlier call may have read some, and the first are not representative.
        self._firsts: deque[tuple[float, int]] = deque()
        self._processes = processes
        self._total = 0

    def report(self, read: int, part: object) -> None:
        now = time.monotonic()
        if not self._firsts:
            self._said, self._total = now, sum(1 for _ in sentences_of(self._sentences))
        if len(self._firsts) < self._processes:
            self._firsts.append((now, read))
            return
        # Processes that start together also report together, so all of them have reported equally often since the
        # report in `_firsts[0]`.
        began, first = self._firsts[0]
        self._firsts.rotate(-1)
        if now - self._said > self.EVERY:
            rate = (read - first) / (now - began)
            remaining = timedelta(seconds=round((self._total - read) / rate))
            print(f"{read:,} of {self._total:,} sentences, {rate:.0f} a second, {remaining} left", file=sys.stderr)
            self._said = now


@contextmanager
def resumable(state: Path, part: int) -> Iterator[None]:
    """Context manager that, on Ctrl-C, exits with a message about the results that are saved.

    Args:
        state: file to which the measurement saves its state.
        part: number of sentences between two saves.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not state.exists():
            sys.exit(
                f"stopped; results are saved only after {part} sentences: run the same command again to start over"
            )
        sys.exit(f"stopped; the results so far are in {state}: run the same command again to continue")
