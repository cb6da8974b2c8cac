"""Base of the pages' URL parameters: dataclasses whose fields define valid values and their text in an address.

Addresses and browsers are untrusted: an invalid value falls back to the default of its field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from transformer.text.normalisation import valid

INTEGER = re.compile(r"-?[0-9]{1,6}")
DECIMAL = re.compile(r"-?[0-9]{1,6}(\.[0-9]{1,6})?")
PARSE = "parse"
LIMITS = "limits"
TYPED = "typed"
FROM_ONE = "from one"
FORMER = "former name"
# The number of decimals of a number in an address.
PLACES = 6


def one_of(options: tuple[str, ...], default: str | None = None, *, former: Mapping[str, str] | None = None) -> Any:
    """Return a field whose value is one of several texts.

    Args:
        options: the valid texts.
        default: one of the texts; None for the first.
        former: maps texts in old addresses to their current names.
    """
    renamed = former or {}

    def parse(text: str) -> str | None:
        text = renamed.get(text, text)
        return text if text in options else None

    return parsed(options[0] if default is None else default, parse)


def matching(pattern: str, default: str = "") -> Any:
    """Return a field for a text that matches a pattern."""
    return parsed(default, lambda text: text if re.fullmatch(pattern, text) else None)


def typed_text(default: str) -> Any:
    """Return a field for a user's text of any length; in an address, it may be cut if there is no room for it."""
    return parsed(default, valid, typed=True)


def flag(default: bool = False, *, former: str | None = None) -> Any:
    """Return a boolean field.

    Args:
        former: the field's name in old addresses.
    """
    return parsed(default, {"true": True, "false": False}.get, former=former)


def integer(default: int, minimum: int, maximum: int, *, former: str | None = None) -> Any:
    """Return an integer field.

    Args:
        former: the field's name in old addresses.
    """
    return parsed(default, lambda text: _integer(text, minimum, maximum), (minimum, maximum), former=former)


def index(maximum: int, default: int = 0) -> Any:
    """Return an index field, which counts from 0 in Python and from 1 in the address."""
    return parsed(default, lambda text: _integer(text, 0, maximum), (0, maximum), from_one=True)


def decimal(default: float, minimum: float, maximum: float, *, former: str | None = None) -> Any:
    """Return a field for a decimal number.

    Args:
        former: the field's name in old addresses.
    """

    def parse(text: str) -> float | None:
        return _within(float(text), minimum, maximum) if DECIMAL.fullmatch(text) else None

    return parsed(default, parse, (minimum, maximum), former=former)


def integers(
    default: tuple[int, ...],
    minimum: int,
    maximum: int,
    *,
    count: int,
    repeated: bool = False,
    former: str | None = None,
) -> Any:
    """Return a field for a tuple of integers.

    Args:
        count: the maximum number of integers.
        repeated: whether an integer may occur twice; otherwise only its first occurrence counts.
        former: the field's name in old addresses.
    """

    def parse(text: str) -> tuple[int, ...] | None:
        parts = text.split(".")
        if len(parts) > count or not all(map(INTEGER.fullmatch, parts)):
            return None
        numbers = tuple(map(int, parts)) if repeated else tuple(dict.fromkeys(map(int, parts)))
        return numbers if all(minimum <= number <= maximum for number in numbers) else None

    return parsed(default, parse, (minimum, maximum), former=former)


def parsed(
    default: Any,
    parse: Callable[[str], Any],
    limits: tuple[Any, Any] = (None, None),
    *,
    from_one: bool = False,
    former: str | None = None,
    typed: bool = False,
) -> Any:
    """Return a field with its own parser.

    Args:
        default: the value if an address has no valid one. The text of a value in an address is its `str`, except for
            types that `_text` handles.
        parse: converts a text to a value; returns None if the text is invalid.
        limits: the smallest and the largest value of a number.
        from_one: whether the address counts from 1 although Python counts from 0.
        former: the field's name in old addresses.
        typed: whether the value is a text typed by the user, which may be cut.
    """
    return field(
        default=default, metadata={PARSE: parse, LIMITS: limits, FROM_ONE: from_one, FORMER: former, TYPED: typed}
    )


@dataclass(frozen=True)
class Params:
    """Base class of the parameters; defining a subclass registers it.

    The functions above make the fields. A subclass states the prefix of its query parameters: `class
    CompareParams(Params, prefix="compare_")`.
    """

    PREFIX: ClassVar[str] = ""

    def __init_subclass__(cls, *, prefix: str = "") -> None:
        cls.PREFIX = prefix

    @classmethod
    def registered(cls) -> tuple[type[Params], ...]:
        """Return all subclasses, each after the class that it is derived from."""
        return tuple(found for own in cls.__subclasses__() for found in (own, *own.registered()))

    @classmethod
    def typed_names(cls) -> tuple[str, ...]:
        """Return the query parameters of all fields that hold text typed by the user."""
        return tuple(
            found.PREFIX + each.name for found in cls.registered() for each in fields(found) if each.metadata[TYPED]
        )

    @classmethod
    def limits(cls, name: str) -> tuple[Any, Any]:
        """Return the smallest and the largest value of a numeric field."""
        return cls._field(name).metadata[LIMITS]

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """Validate an untrusted value that a widget sent for a field; return None if it is invalid."""
        return cls._field(name).metadata[PARSE](_text(tuple(value) if isinstance(value, list) else value))

    @classmethod
    def from_browser(cls, values: Any) -> Self:
        """Parse a component's message, an object with values for some of the fields."""
        if not isinstance(values, Mapping):
            return cls()
        typed = [each for each in fields(cls) if each.name in values and _same_type(values[each.name], each.default)]
        return cls._of({each.name: cls.checked(each.name, values[each.name]) for each in typed})

    def to_address(self) -> dict[str, str]:
        """Return the query parameters of an address, without fields that have their default."""
        address = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                address[self.PREFIX + each.name] = _text(value + 1 if each.metadata[FROM_ONE] else value)
        return address

    @classmethod
    def from_address(cls, address: Mapping[str, str]) -> Self:
        """Parse the query parameters of an address."""
        values = {}
        for each in fields(cls):
            names = [each.name, *([each.metadata[FORMER]] if each.metadata[FORMER] else [])]
            text = next((address[cls.PREFIX + name] for name in names if cls.PREFIX + name in address), None)
            values[each.name] = _parse(each, text)
        return cls._of(values)

    def for_another_sentence(self) -> Self:
        """Return a copy without values that belong to the sentence; called when another sentence is read."""
        return self

    def for_another_translation(self) -> Self:
        """Return a copy without values that belong to the translation; called when the sentence gets another one."""
        return self

    @classmethod
    def _field(cls, name: str) -> Field:
        return next(each for each in fields(cls) if each.name == name)

    @classmethod
    def _of(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{name: value for name, value in values.items() if value is not None})


def _parse(each: Field, text: str | None) -> Any:
    if text is not None and each.metadata[FROM_ONE]:
        text = str(int(text) - 1) if INTEGER.fullmatch(text) else None
    return None if text is None else each.metadata[PARSE](text)


def _same_type(value: Any, default: Any) -> bool:
    """Return whether a value has the type of a default; an int passes for a float, because JSON writes 2.0 as 2."""
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(type(one) is int for one in value)
    return type(value) is type(default) or (isinstance(default, float) and type(value) is int)


def _integer(text: str, minimum: int, maximum: int) -> int | None:
    return _within(int(text), minimum, maximum) if INTEGER.fullmatch(text) else None


def _within(number: Any, minimum: Any, maximum: Any) -> Any:
    return number if minimum <= number <= maximum else None


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    if isinstance(value, float):
        # Avoid exponents, because numbers in addresses have none.
        return np.format_float_positional(round(value, PLACES), trim="0")
    return str(value).lower() if isinstance(value, bool) else str(value)
