"""Base class of the pages' URL parameters: dataclasses whose fields define valid values and their URL format.

URLs and browser messages are untrusted: an invalid value falls back to the field's default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from transformer.text.normalisation import replace_surrogates

INTEGER = re.compile(r"-?[0-9]{1,6}")
DECIMAL = re.compile(r"-?[0-9]{1,6}(\.[0-9]{1,6})?")
PARSE = "parse"
LIMITS = "limits"
TYPED = "typed"
FROM_ONE = "from one"
FORMER = "former name"
# Maximum number of decimal places in a URL.
PLACES = 6


def one_of(options: tuple[str, ...], default: str | None = None, *, former: Mapping[str, str] | None = None) -> Any:
    """Return a field whose value is one of several strings.

    Args:
        options: the valid strings.
        default: one of `options`; None for the first.
        former: maps strings in old URLs to their current names.
    """
    renamed = former or {}

    def parse(text: str) -> str | None:
        text = renamed.get(text, text)
        return text if text in options else None

    return parsed(options[0] if default is None else default, parse)


def matching(pattern: str, default: str = "") -> Any:
    """Return a text field whose value must match a regular expression."""
    return parsed(default, lambda text: text if re.fullmatch(pattern, text) else None)


def typed_text(default: str) -> Any:
    """Return a field for user-typed text of any length; only its beginning is kept if the URL would be too long."""
    return parsed(default, replace_surrogates, typed=True)


def flag(default: bool = False, *, former: str | None = None) -> Any:
    """Return a boolean field.

    Args:
        former: the field's name in old URLs.
    """
    return parsed(default, {"true": True, "false": False}.get, former=former)


def integer(default: int, minimum: int, maximum: int, *, former: str | None = None) -> Any:
    """Return an integer field.

    Args:
        former: the field's name in old URLs.
    """
    return parsed(default, lambda text: _integer(text, minimum, maximum), (minimum, maximum), former=former)


def index(maximum: int, default: int = 0) -> Any:
    """Return a field for an index, which is 0-based in Python and 1-based in the URL."""
    return parsed(default, lambda text: _integer(text, 0, maximum), (0, maximum), from_one=True)


def decimal(default: float, minimum: float, maximum: float, *, former: str | None = None) -> Any:
    """Return a field for a decimal number.

    Args:
        former: the field's name in old URLs.
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
        repeated: whether integers may repeat; if not, repetitions are dropped.
        former: the field's name in old URLs.
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
    """Return a field with a custom parser. `_text` serialises the field's values, and calls `str` on custom types.

    Args:
        default: the value if the URL has no valid one.
        parse: converts a string to a value; returns None if the string is invalid.
        limits: the smallest and the largest valid number; None for values that are not numbers.
        from_one: whether the value is 1-based in the URL but 0-based in Python.
        former: the field's name in old URLs.
        typed: whether the value is text typed by the user, which may be cut if the URL gets too long.
    """
    return field(
        default=default, metadata={PARSE: parse, LIMITS: limits, FROM_ONE: from_one, FORMER: former, TYPED: typed}
    )


@dataclass(frozen=True)
class Params:
    """Base class of all URL parameters; defining a subclass registers it.

    Define fields with the functions of this module, such as `one_of` and `integer`. A subclass defines the prefix of
    its query parameters: `class CompareParams(Params, prefix="compare_")`.

    Attributes:
        PREFIX: the prefix of the query parameters.
        OF_TRANSLATION: the fields that a new translation or a new sentence resets to their defaults.
        OF_SENTENCE: the fields that only a new sentence resets to their defaults.
    """

    PREFIX: ClassVar[str] = ""
    OF_TRANSLATION: ClassVar[tuple[str, ...]] = ()
    OF_SENTENCE: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, prefix: str = "") -> None:
        cls.PREFIX = prefix

    @classmethod
    def registered(cls) -> tuple[type[Params], ...]:
        """Return all subclasses, including indirect ones, with each class before its own subclasses."""
        return tuple(
            each_class for subclass in cls.__subclasses__() for each_class in (subclass, *subclass.registered())
        )

    @classmethod
    def typed_names(cls) -> tuple[str, ...]:
        """Return the names of all subclasses' query parameters that contain text typed by the user."""
        return tuple(
            found.PREFIX + each.name for found in cls.registered() for each in fields(found) if each.metadata[TYPED]
        )

    @classmethod
    def limits(cls, name: str) -> tuple[Any, Any]:
        """Return the smallest and the largest value of a numeric field."""
        return cls._field(name).metadata[LIMITS]

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """Validate an untrusted value and return it in the field's type; return None if the value is invalid."""
        return cls._field(name).metadata[PARSE](_text(tuple(value) if isinstance(value, list) else value))

    @classmethod
    def from_browser(cls, values: Any) -> Self:
        """Parse a component's untrusted message, an object that maps field names to values."""
        if not isinstance(values, Mapping):
            return cls()
        typed = [each for each in fields(cls) if each.name in values and _same_type(values[each.name], each.default)]
        return cls._of({each.name: cls.checked(each.name, values[each.name]) for each in typed})

    def to_address(self) -> dict[str, str]:
        """Return the query parameters for a URL, without fields that have their default value."""
        address = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                address[self.PREFIX + each.name] = _text(value + 1 if each.metadata[FROM_ONE] else value)
        return address

    @classmethod
    def from_address(cls, address: Mapping[str, str]) -> Self:
        """Parse the query parameters of a URL."""
        values = {}
        for each in fields(cls):
            names = [each.name, *([each.metadata[FORMER]] if each.metadata[FORMER] else [])]
            text = next((address[cls.PREFIX + name] for name in names if cls.PREFIX + name in address), None)
            values[each.name] = _parse(each, text)
        return cls._of(values)

    def for_another_sentence(self) -> Self:
        """Return a copy without values that make sense only for the current sentence."""
        return self._without(self.OF_SENTENCE + self.OF_TRANSLATION)

    def for_another_translation(self) -> Self:
        """Return a copy without values that make sense only for the current translation."""
        return self._without(self.OF_TRANSLATION)

    def _without(self, names: tuple[str, ...]) -> Self:
        return replace(self, **{name: self._field(name).default for name in names})

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
    """Return whether a value has the type of a field's default. An int passes as a float: JSON may write 2.0 as 2."""
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
        # Avoid exponents, which the parser does not accept.
        return np.format_float_positional(round(value, PLACES), trim="0")
    return str(value).lower() if isinstance(value, bool) else str(value)
