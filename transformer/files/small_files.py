"""Files that somebody waits for while they are read, so only true ones, and no larger than such files are."""

from __future__ import annotations

from codecs import getincrementaldecoder
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
    if _size(path) > most:
        raise ValueError(f"{path.name} is larger than the {most // MEGABYTE} MB that such a file may have")
    return path.read_bytes()


def read_small_text(path: Path, most: int = MOST) -> str:
    """The same as text.

    Raises:
        OSError, ValueError: as `read_small`; the latter also if it is not in UTF-8.
    """
    return _decoded(read_small(path, most), path)


def read_beginning(path: Path, most: int) -> tuple[str, bool]:
    """The text of a file as far as its first `most` bytes go, and whether that is all of it.

    Raises:
        OSError: it is missing, or nobody may read it.
        ValueError: it is something else than a file, or not in UTF-8 so far.
    """
    whole = _size(path) <= most
    with path.open("rb") as file:
        return _decoded(file.read(most), path, whole=whole), whole


def _size(path: Path) -> int:
    """Bytes of a file; a ValueError if it is something else."""
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise ValueError(f"{path.name} is no file")
    return status.st_size


def _decoded(content: bytes, path: Path, *, whole: bool = True) -> str:
    """The text that the content of a file is; the last character may be half there where it is not the whole one."""
    try:
        return getincrementaldecoder("utf-8")().decode(content, final=whole)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is no text in UTF-8 ({error})") from error
