"""Files that are written, or replaced, as a whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Whatever keeps a file from being written is told with its name: the system names none if the disk is full.

    Raises:
        OSError: the file cannot be written; the message says what to do.
    """
    try:
        yield
    except (OSError, SafetensorError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise OSError(
            f"{path} could not be written ({reason}): see that its folder is there, may be written to and has room, "
            "then call this again"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write what a command was asked for; it may be no plain file, so nothing takes its place.

    Raises:
        OSError: as `writing` does.
    """
    with writing(path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of `path`; an interruption leaves the old one or the new one.

    Raises:
        OSError: the file cannot be written; the old one stays, and nothing beside it.
    """
    unfinished = path.with_suffix(".unfinished")
    with writing(path):
        try:
            unfinished.unlink(missing_ok=True)
            unfinished.touch()
            mode = unfinished.stat().st_mode
            yield unfinished
            # safetensors writes files that nobody but their owner can read, whatever the umask says.
            unfinished.chmod(mode)
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
