"""Reads the TOML document of a lesson, without its meaning."""

from __future__ import annotations

import reprlib
import tomllib
from typing import Any

from transformer.errors import LessonError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def quoted(value: object) -> str:
    """A value, quoted and shortened for a message: a file may contain thousands of characters."""
    return _SHORT.repr(value)


def read_document(text: str) -> dict[str, Any]:
    """The fields of a TOML document.

    Raises:
        LessonError: the text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise LessonError(
            f"the file is not TOML: {error}; write texts in quotes, and begin each step with [[steps]]"
        ) from error
