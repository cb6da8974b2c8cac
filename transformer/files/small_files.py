"""Reads small untrusted files as a whole, up to a size limit."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Any

MEGABYTE = 1 << 20
# No vocabulary is larger.
MAX_FILE_BYTES = 32 * MEGABYTE


def read_small(path: Path, most: int = MAX_FILE_BYTES) -> bytes:
    """The content of a file of at most `most` bytes.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: it is larger.
    """
    content = _beginning(path, most)
    if len(content) > most:
        raise ValueError(f"{path.name} is larger than the {most // MEGABYTE} MB that such a file may have")
    return content


def read_small_text(path: Path, most: int = MAX_FILE_BYTES) -> str:
    """The same as text.

    Raises:
        OSError, ValueError: as in `read_small`; the latter also if it is not in UTF-8.
    """
    return _decoded(read_small(path, most), path)


def read_small_json(path: Path, most: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        OSError, ValueError: as in `read_small`; the latter also if it is not a JSON object.
    """
    return json_object(read_small(path, most), path.name)


def json_object(content: bytes | str, name: str) -> dict[str, Any]:
    """The JSON object in the content of a file with a name.

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
    """The text of the first `most` bytes of a file, and whether that is the whole file.

    Raises:
        OSError: it is missing, or cannot be read.
        ValueError: this part is not in UTF-8.
    """
    content = _beginning(path, most)
    whole = len(content) <= most
    return _decoded(content[:most], path, whole=whole), whole


def _beginning(path: Path, most: int) -> bytes:
    """The content of a file; if it is larger, its first `most` + 1 bytes."""
    with path.open("rb") as file:
        return file.read(most + 1)


def _decoded(content: bytes, path: Path, *, whole: bool = True) -> str:
    """The decoded content of a file; a beginning may end within a character."""
    try:
        return getincrementaldecoder("utf-8")().decode(content, final=whole)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text ({error})") from error
