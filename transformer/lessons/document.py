"""What stands in a lesson's file, before anybody knows what it means."""

from __future__ import annotations

import reprlib
import tomllib
from typing import Any

from transformer.errors import LessonError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def quoted(value: object) -> str:
    """A value as a message quotes it, of which the file may hold thousands of characters."""
    return _SHORT.repr(value)


def read_document(text: str) -> dict[str, Any]:
    """The fields of a TOML document.

    Raises:
        LessonError: it is none.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise LessonError(
            f"the file is no TOML: {error}; texts stand in quotes, and each step begins with [[steps]]"
        ) from error
