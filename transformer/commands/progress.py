"""Reports the progress of a long measurement on the terminal, and handles Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from transformer.measurements.corpus import sentences_of


class ProgressReport:
    """Reports the progress of a long measurement on the terminal."""

    EVERY = 10.0

    def __init__(self, sentences: Path, processes: int) -> None:
        self._sentences = sentences
        self._said = 0.0
        # The times at which the first parts arrived, and the number of sentences read by then. The speed is measured
        # from there: an earlier call may have read sentences before, and the first ones are not typical.
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
        # Processes that start together also deliver together. Between the reference part and this one, all processes
        # have delivered equally many parts.
        began, first = self._firsts[0]
        self._firsts.rotate(-1)
        if now - self._said > self.EVERY:
            rate = (read - first) / (now - began)
            remaining = timedelta(seconds=round((self._total - read) / rate))
            print(f"{read:,} of {self._total:,} sentences, {rate:.0f} a second, {remaining} left", file=sys.stderr)
            self._said = now


@contextmanager
def resumable(state: Path, part: int) -> Iterator[None]:
    """Context manager that reports on Ctrl-C how much is saved; the state is saved after every `part` sentences."""
    try:
        yield
    except KeyboardInterrupt:
        if not state.exists():
            sys.exit(f"stopped; results of fewer than {part} sentences are not kept, so the same command starts again")
        sys.exit(f"stopped; {state} has the results so far, and the same command continues from there")
