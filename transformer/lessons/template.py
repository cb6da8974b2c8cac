"""Fills measured values into the texts of a lesson: `{weight:.0%}` stands for the value `weight`.

A lesson file is untrusted. Only names of values and a few formats are allowed; attributes, indices and widths are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from string import Formatter

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Value

NAME = re.compile("[a-z_]{1,40}")
FORMAT = re.compile(r",|,?\.[0-6][f%]|")
FORMATS = "{name}, {name:.2f}, {name:.0%} or {name:,}, with 0 to 6 decimals"


def names(text: str) -> set[str]:
    """Return the names of the values that a text quotes.

    Raises:
        LessonError: a brace has no partner, or the text in braces is not a valid value; the message quotes it.
    """
    return {name for _, name, _ in _parts(text) if name is not None}


def filled(text: str, values: Mapping[str, Value], mark: Callable[[str], str] = str) -> str:
    """Fill the measured values into a text.

    Args:
        text: text with values in braces.
        values: values by name, at least those that the text quotes.
        mark: function to apply to each formatted value.

    Raises:
        LessonError: a value is a text but has the format of a number.
    """
    return "".join(
        literal + ("" if name is None else mark(_written(name, form, values[name])))
        for literal, name, form in _parts(text)
    )


def _parts(text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield each literal text, with the name and the format of the value after it."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise LessonError(f"“{text}” has a brace without its partner; a value is written {FORMATS}") from error
    for literal, name, form, conversion in parts:
        if name is not None and (conversion or not NAME.fullmatch(name) or not FORMAT.fullmatch(form or "")):
            raise LessonError(f"{{{name}}} in “{text}” cannot be read; a value is written {FORMATS}")
        yield literal, name, form or ""


def _written(name: str, form: str, value: Value) -> str:
    if form and isinstance(value, str):
        raise LessonError(f"{{{name}:{form}}} needs a number, but {name} is a text: write {{{name}}}")
    if isinstance(value, str):
        return value
    # Without a format, a float would be printed with sixteen digits.
    return format(value, form or (".2f" if isinstance(value, float) else "")).replace("-", "−")
