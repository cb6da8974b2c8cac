"""Files that are replaced as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of `path`; an interruption leaves the old one or the new one."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch()
    mode = unfinished.stat().st_mode
    yield unfinished
    # safetensors writes files that nobody but their owner can read, whatever the umask says.
    unfinished.chmod(mode)
    os.replace(unfinished, path)
