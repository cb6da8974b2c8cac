"""Reads small untrusted files, or the beginning of a file, up to a size limit."""

import json
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20
# Default size limit in bytes; no vocabulary file is larger.
MAX_FILE_BYTES = 32 * MEGABYTE


def read_small(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """Read a file of at most `most` bytes.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: the file is larger.
    """
    content = _beginning(path, most)
    if len(content) > most:
        raise ValueError(f"{path.name} is larger than {most // MEGABYTE} MB, the limit for this type of file")
    return content


def read_small_text(path: Path, most: int = MAX_FILE_BYTES) -> str:
    """Read a text file of at most `most` bytes.

    Raises:
        OSError, ValueError: as in `read_small`; ValueError also if the file is not UTF-8.
    """
    return _decoded(read_small(path, most), path)


def read_small_json(path: Path, most: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """Read a JSON object from a file of at most `most` bytes.

    Raises:
        OSError, ValueError: as in `read_small`; ValueError also if the file is not a JSON object.
    """
    return json_object(read_small(path, most), path.name)


def json_object(content: bytes | str, name: str) -> dict[str, Any]:
    """Parse a file's content as a JSON object; `name` is the file name for error messages.

    Raises:
        ValueError: the content is not a JSON object.
    """
    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is not a JSON file, or is damaged") from None
    if not isinstance(values, dict):
        raise ValueError(f"{name} is not a JSON object")
    return values


def read_beginning(path: Path, most: int) -> tuple[str, bool]:
    """Read the text in the first `most` bytes of a file. Also return whether this is the whole file.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError: the bytes are not UTF-8.
    """
    content = _beginning(path, most)
    is_whole = len(content) <= most
    return _decoded(content[:most], path, is_whole=is_whole), is_whole


def _beginning(path: Path, most: int) -> bytes:
    """Read at most `most` + 1 bytes of a file; the extra byte shows that the file is larger than `most`."""
    with path.open("rb") as file:
        return file.read(most + 1)


def _decoded(content: bytes, path: Path, *, is_whole: bool = True) -> str:
    """Decode UTF-8. If `is_whole` is False, the bytes may end in the middle of a character."""
    try:
        return getincrementaldecoder("utf-8")().decode(content, final=is_whole)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text ({error})") from error
