"""Inserts measured values into a lesson's texts: `{weight:.0%}` stands for the value `weight`.

A lesson file is untrusted. Only value names and a few number formats are allowed; attributes, indices and field widths
are not.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from string import Formatter

from transformer.errors import LessonError
from transformer.lessons.claims.registry import Value

NAME = re.compile("[a-z_]{1,40}")
FORMAT = re.compile(r",|,?\.[0-6][f%]|")
FORMATS = "{name}, {name:.2f}, {name:.0%} or {name:,}, with 0 to 6 decimals"


def names(text: str) -> set[str]:
    """Return the names of all values that a text refers to.

    Raises:
        LessonError: a brace is unmatched, or braces contain anything except a value's name and format.
    """
    return {name for _, name, _ in _parts(text) if name is not None}


def fill(text: str, values: Mapping[str, Value], mark: Callable[[str], str] = str) -> str:
    """Insert measured values into a text.

    Args:
        text: text with value names in braces.
        values: values by name; must include all values that the text refers to.
        mark: function to apply to each formatted value.

    Raises:
        LessonError: as in `names`, or the text gives a number format to a value that is not a number.
    """
    return "".join(
        literal + ("" if name is None else mark(_format_value(name, form, values[name])))
        for literal, name, form in _parts(text)
    )


def _parts(text: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield (literal text, value name, format) triples. The name is None if no value follows the literal text."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise LessonError(f"“{text}” has an unmatched brace: write a value as {FORMATS}") from error
    for literal, name, form, conversion in parts:
        if name is not None and (conversion or not NAME.fullmatch(name) or not FORMAT.fullmatch(form or "")):
            raise LessonError(f"{{{name}}} in “{text}” is invalid: write a value as {FORMATS}")
        yield literal, name, form or ""


def _format_value(name: str, form: str, value: Value) -> str:
    if form and isinstance(value, str):
        raise LessonError(f"{{{name}:{form}}} needs a number, but {name} is text: write {{{name}}}")
    if isinstance(value, str):
        return value
    # Without a format, Python would print up to 17 digits of a float.
    return format(value, form or (".2f" if isinstance(value, float) else "")).replace("-", "−")
