"""Parses a lesson's TOML document, and checks the range of its numbers. Other modules check the fields."""

import reprlib
import tomllib
from typing import Any

from transformer.errors import LessonError

# Largest absolute value of a number in a lesson. The limit ensures that error messages can quote the number: Python
# refuses to print a number with thousands of digits.
MAX_NUMBER = 1_000_000_000
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def quoted(value: object) -> str:
    """Quote a value for an error message. Long values are shortened, because lesson files may contain long texts."""
    return _SHORT.repr(value)


def read_document(text: str) -> dict[str, Any]:
    """Parse a TOML document, and return its fields.

    Raises:
        LessonError: the text is not TOML, or contains a number that is not between -MAX_NUMBER and MAX_NUMBER.
    """
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise LessonError(
            f"the file is not TOML: {error}; put texts in quotes, and begin each step with [[steps]]"
        ) from error
    pending: list[object] = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, int | float) and not abs(value) <= MAX_NUMBER:
            raise LessonError(
                f"a number in the file is out of range: use numbers from {-MAX_NUMBER:,} to {MAX_NUMBER:,}"
            )
    return document
