"""What a page keeps in the address: a frozen dataclass whose fields say what is valid.

Addresses and browsers are untrusted: what is not valid falls back to what is shown at first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Self

WHOLE = re.compile(r"-?[0-9]{1,6}")
DECIMAL = re.compile(r"-?[0-9]{1,6}(\.[0-9]{1,6})?")
READ = "read"
LIMITS = "limits"
FROM_ONE = "from one"


def one_of(choices: tuple[str, ...], first: str | None = None) -> Any:
    """A field that is one of some texts."""
    return _field(choices[0] if first is None else first, lambda text: text if text in choices else None)


def matching(pattern: str) -> Any:
    """A field that is any text that matches; empty at first."""
    return _field("", lambda text: text if re.fullmatch(pattern, text) else None)


def switch() -> Any:
    """A field that is on or off; off at first."""
    return _field(False, {"true": True, "false": False}.get)


def whole(first: int, least: int, most: int) -> Any:
    """A field that is a whole number."""
    return _field(first, lambda text: _whole_within(text, least, most), least, most)


def index(most: int) -> Any:
    """A field that counts from 0, as arrays do, and from 1 in the address, as people do; 0 at first."""
    return _field(0, lambda text: _whole_within(text, 0, most), 0, most, from_one=True)


def decimal(first: float, least: float, most: float) -> Any:
    """A field that is a number."""
    return _field(
        first, lambda text: _within(float(text), least, most) if DECIMAL.fullmatch(text) else None, least, most
    )


def wholes(first: tuple[int, ...], least: int, most: int, *, count: int, repeated: bool = False) -> Any:
    """A field of up to `count` whole numbers; different ones unless they may be repeated."""

    def read(text: str) -> tuple[int, ...] | None:
        parts = text.split(".")
        if len(parts) > count or not all(map(WHOLE.fullmatch, parts)):
            return None
        numbers = tuple(map(int, parts)) if repeated else tuple(dict.fromkeys(map(int, parts)))
        return numbers if all(least <= number <= most for number in numbers) else None

    return _field(first, read, least, most)


@dataclass(frozen=True)
class Addressed:
    """Base of the dataclasses; their fields are made by the functions above."""

    PREFIX: ClassVar[str]

    @classmethod
    def limits(cls, name: str) -> tuple[Any, Any]:
        """The smallest and the largest number that a field may be."""
        return next(each.metadata[LIMITS] for each in fields(cls) if each.name == name)

    @classmethod
    def checked(cls, name: str, value: Any) -> Any:
        """What a widget sent for a field, which is as untrusted; None if it is not valid."""
        each = next(each for each in fields(cls) if each.name == name)
        return each.metadata[READ](_text(tuple(value) if isinstance(value, list) else value))

    @classmethod
    def from_browser(cls, values: Any) -> Self:
        """What a component sent: an object with a value for some of the fields."""
        if not isinstance(values, Mapping):
            return cls()
        typed = [each for each in fields(cls) if _alike(values.get(each.name), each.default)]
        return cls._of({each.name: cls.checked(each.name, values[each.name]) for each in typed})

    def to_address(self) -> dict[str, str]:
        """Parameters of an address; what is as at first is left out."""
        written = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                written[self.PREFIX + each.name] = _text(value + 1 if each.metadata[FROM_ONE] else value)
        return written

    @classmethod
    def from_address(cls, parameters: Mapping[str, str]) -> Self:
        """What an address stands for."""
        return cls._of({each.name: _read(each, parameters.get(cls.PREFIX + each.name)) for each in fields(cls)})

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> Self:
        return cls(**{name: value for name, value in found.items() if value is not None})


def _field(
    first: Any, read: Callable[[str], Any], least: Any = None, most: Any = None, *, from_one: bool = False
) -> Any:
    return field(default=first, metadata={READ: read, LIMITS: (least, most), FROM_ONE: from_one})


def _read(each: Field, text: str | None) -> Any:
    if text is not None and each.metadata[FROM_ONE]:
        text = str(int(text) - 1) if WHOLE.fullmatch(text) else None
    return None if text is None else each.metadata[READ](text)


def _alike(value: Any, first: Any) -> bool:
    """Whether a value has the type of a field's first one; JSON does not tell 2.0 from 2."""
    if isinstance(first, tuple):
        return isinstance(value, list | tuple) and all(type(one) is int for one in value)
    return type(value) is type(first) or (isinstance(first, float) and type(value) is int)


def _whole_within(text: str, least: int, most: int) -> int | None:
    return _within(int(text), least, most) if WHOLE.fullmatch(text) else None


def _within(number: Any, least: Any, most: Any) -> Any:
    return number if least <= number <= most else None


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    if isinstance(value, float):
        return str(round(value, 6))
    return str(value).lower() if isinstance(value, bool) else str(value)
