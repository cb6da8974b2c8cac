"""Files that somebody waits for while they are read, so only true ones, and no larger than such files are."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISREG

MEGABYTE = 1 << 20
# No vocabulary is larger.
MOST = 32 * MEGABYTE


def read_small(path: Path, most: int = MOST) -> bytes:
    """The content of a file of at most so many bytes.

    Raises:
        OSError: it is missing, or nobody may read it.
        ValueError: it is larger, or something else than a file: a pipe would be waited for, a device need not end.
    """
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is no file")
    if status.st_size > most:
        raise ValueError(f"{path.name} is larger than the {most // MEGABYTE} MB that such a file may have")
    return path.read_bytes()


def read_small_text(path: Path, most: int = MOST) -> str:
    """The same as text.

    Raises:
        OSError, ValueError: as `read_small`; the latter also if it is not in UTF-8.
    """
    try:
        return read_small(path, most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no text in UTF-8 ({error})") from error
