"""Pipes, for input that a program can read only once."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

no_pipes = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="a pipe has no name")


@contextmanager
def piped(text: str) -> Iterator[str]:
    """Yield the path of a pipe from which a text can be read once, as with a shell's <(command)."""
    reading, writing = os.pipe()

    def write() -> None:
        # If the command ignores its input, the pipe may be closed before the text is written.
        with suppress(BrokenPipeError), os.fdopen(writing, "w", encoding="utf-8") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)
        writer.join()
