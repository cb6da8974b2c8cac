"""What a page keeps in the address: a frozen dataclass whose fields say what is valid.

An address is untrusted: what is not valid falls back to what is shown at first.
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
    return _field(first, lambda text: _within(int(text), least, most) if WHOLE.fullmatch(text) else None, least, most)


def decimal(first: float, least: float, most: float) -> Any:
    """A field that is a number."""
    return _field(
        first, lambda text: _within(float(text), least, most) if DECIMAL.fullmatch(text) else None, least, most
    )


def wholes(first: tuple[int, ...], least: int, most: int, *, count: int) -> Any:
    """A field of up to `count` different whole numbers."""

    def read(text: str) -> tuple[int, ...] | None:
        parts = text.split(".")
        if len(parts) > count or not all(map(WHOLE.fullmatch, parts)):
            return None
        numbers = tuple(dict.fromkeys(map(int, parts)))
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
        text = _text(tuple(value) if isinstance(value, list) else value)
        return _read(next(each for each in fields(cls) if each.name == name), text)

    def to_address(self) -> dict[str, str]:
        """Parameters of an address; what is as at first is left out."""
        return {
            self.PREFIX + each.name: _text(getattr(self, each.name))
            for each in fields(self) if getattr(self, each.name) != each.default
        }

    @classmethod
    def from_address(cls, parameters: Mapping[str, str]) -> Self:
        """What an address stands for."""
        found = {each.name: _read(each, parameters.get(cls.PREFIX + each.name)) for each in fields(cls)}
        return cls(**{name: value for name, value in found.items() if value is not None})


def _field(first: Any, read: Callable[[str], Any], least: Any = None, most: Any = None) -> Any:
    return field(default=first, metadata={READ: read, LIMITS: (least, most)})


def _read(each: Field, text: str | None) -> Any:
    return None if text is None else each.metadata[READ](text)


def _within(number: Any, least: Any, most: Any) -> Any:
    return number if least <= number <= most else None


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ".".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
