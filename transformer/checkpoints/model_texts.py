"""The files of a model folder that are read whole, and what keeps one from being read, in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformer.checkpoints.cards import MOST_BYTES, shortened
from transformer.checkpoints.learning_curve import check_curve
from transformer.errors import CheckpointError
from transformer.files.small_files import read_beginning, read_small

CARD = "README.md"
CURVE = "learning_curve.csv"
RESTORE = "Fetch the model folder again, or make one with `python -m transformer.training`."


def read_bytes(path: Path) -> bytes:
    """The content of a file that a model folder must have.

    Raises:
        CheckpointError: it is missing, too large, or cannot be read.
    """
    with _reading(path):
        return read_small(path)


def read_text(path: Path) -> str:
    """The same as text.

    Raises:
        CheckpointError: as `read_bytes`, or it is not in UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(f"The file {path} is no text in UTF-8 ({error}). {RESTORE}") from error


def read_card(folder: Path) -> str:
    """The card of a model folder, as much of it as a page shows; empty if there is none.

    Raises:
        CheckpointError: the file is none, or no text.
    """
    path = folder / CARD
    if not _is_there(path):
        return ""
    with _reading(path):
        return shortened(*read_beginning(path, MOST_BYTES))


def read_curve(folder: Path) -> str:
    """The learning curve of a model folder; empty if there is none.

    Raises:
        CheckpointError: the file is none.
    """
    path = folder / CURVE
    curve = read_text(path) if _is_there(path) else ""
    try:
        check_curve(curve)
    except ValueError as error:
        raise CheckpointError(f"The learning curve {path} is damaged: {error}. {RESTORE}") from error
    return curve


def check_is_file(path: Path) -> None:
    """Refuse a file that is missing, and what is none: a folder, or a pipe that would be waited for."""
    if not _is_there(path):
        raise CheckpointError(f"The file {path} is missing. {RESTORE}")
    if not path.is_file():
        raise CheckpointError(f"There should be a file {path}, and it is something else. {RESTORE}")


def _is_there(path: Path) -> bool:
    """Whether there is something of that name.

    Raises:
        CheckpointError: nobody can tell: its folder may not be entered, or no file could have such a name.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, error) from error
    return True


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever keeps a file from being read is told with its name."""
    check_is_file(path)
    try:
        yield
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise CheckpointError(f"The file {path} cannot be used: {error}. {RESTORE}") from error


def _unreadable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(f"The file {path} cannot be read ({error.strerror}). {RESTORE}")
