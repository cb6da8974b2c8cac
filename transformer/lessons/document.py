"""What stands in a lesson's file, before anybody knows what it means."""

from __future__ import annotations

import reprlib
import tomllib
from typing import Any

from transformer.errors import LessonError

# No number of a lesson is larger, or further below 0.
MOST_NUMBER = 1_000_000_000
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80


def quoted(value: object) -> str:
    """A value as a message quotes it: the file may hold one of thousands of characters, or nested as deeply."""
    return _SHORT.repr(value)


def read_document(text: str) -> dict[str, Any]:
    """The fields of a TOML document.

    Raises:
        LessonError: it is none, or has a number that no lesson needs.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LessonError(
            f"the file is no TOML: {error}; texts stand in quotes, and each step begins with [[steps]]"
        ) from error
    except RecursionError as error:
        raise LessonError("the file is no lesson: its brackets are nested too deeply") from error
    except ValueError as error:
        # Python reads no whole number of so many digits.
        raise LessonError(f"the file has a number with thousands of digits; {_needs()}") from error
    _check_numbers(document)
    return document


def _check_numbers(document: dict[str, Any]) -> None:
    # Not by calling itself: keys such as a.a.a nest deeper than calls may.
    left: list[tuple[str, object]] = list(document.items())
    while left:
        name, value = left.pop()
        if isinstance(value, dict):
            left += value.items()
        elif isinstance(value, list):
            left += [(name, each) for each in value]
        elif isinstance(value, int | float) and not -MOST_NUMBER <= value <= MOST_NUMBER:
            raise LessonError(f"{quoted(name)} is a number out of all bounds; {_needs()}")


def _needs() -> str:
    return f"a lesson has numbers from {-MOST_NUMBER:,} to {MOST_NUMBER:,}"
