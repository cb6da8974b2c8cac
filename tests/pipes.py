"""Text that a program reads from another program and can read only once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

no_pipes = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="a pipe has no name")


@contextmanager
def piped(text: str) -> Iterator[str]:
    """Return the name of a pipe that yields a text once, as a shell's <(command) does."""
    reading, writing = os.pipe()

    def write() -> None:
        # A command that reads nothing may close its end before the first word is written.
        with suppress(BrokenPipeError), os.fdopen(writing, "w", encoding="utf-8") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()
