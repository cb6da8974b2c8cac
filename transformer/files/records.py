"""Records: JSON files that commands write and pages read. What a page would stumble over is refused when it is read."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

# No number of a record is larger, and every whole number up to it is exact in float64.
MOST = 10**15


@dataclass(frozen=True)
class Fields:
    """An object of a record. Each method reads one of its fields; a ValueError says which one is not what it should be.

    Attributes:
        values: by name; those that nobody asks for may be of a newer version.
        where: it stands in the record, such as "points[3]."; empty for the record itself.
    """

    values: Mapping[str, Any]
    where: str = ""

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        return _text(self._value(name), self.where + name)

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if type(value) is not bool:
            raise _wrong(self.where + name, value, "true or false")
        return value

    def whole(self, name: str, least: int = 0) -> int:
        return _whole(self._value(name), self.where + name, least)

    def number(self, name: str, low: float = -MOST, high: float = MOST) -> float:
        """A finite number within limits."""
        return _number(self._value(name), self.where + name, low, high)

    def choice(self, name: str, known: Collection[str]) -> Any:
        """One of the known names."""
        return _choice(self._value(name), self.where + name, known)

    def choices(self, name: str, known: Collection[str]) -> tuple[Any, ...]:
        """Known names, each once at most."""
        found = tuple(_choice(value, what, known) for what, value in self._entries(name))
        if len(set(found)) < len(found):
            raise ValueError(f"{self.where}{name} has one of its entries twice")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(_text(value, what) for what, value in self._entries(name))

    def wholes(self, name: str) -> tuple[int, ...]:
        """Whole numbers from 0, one at least."""
        return tuple(_whole(value, what, 0) for what, value in self._entries(name))

    def array(
        self, name: str, shape: tuple[int | None, ...], low: float = -MOST, high: float = MOST, *, gaps: bool = False
    ) -> np.ndarray:
        """Numbers within limits, float64.

        Args:
            shape: of the array; None for an axis of any length but 0.
            gaps: whether null stands for NaN.
        """
        what = self.where + name
        found = np.array(_nested(self._value(name), what, len(shape), low, high, gaps=gaps), dtype=np.float64)
        if any(size not in (None, has) for size, has in zip(shape, found.shape, strict=True)):
            raise ValueError(f"{what} has the shape {found.shape}; it must be {shape}")
        return found

    def inner(self, name: str) -> Fields:
        """An object in this one."""
        return _fields(self._value(name), f"{self.where}{name}")

    def all_inner(self, name: str, least: int = 1) -> tuple[Fields, ...]:
        """A list of objects, with so many at least."""
        return tuple(_fields(value, what) for what, value in self._entries(name, least))

    def _value(self, name: str) -> Any:
        if name not in self.values:
            raise ValueError(f"{self.where}{name} is missing")
        return self.values[name]

    def _entries(self, name: str, least: int = 1) -> list[tuple[str, Any]]:
        """The entries of a list, each with where it stands."""
        what, value = self.where + name, self._value(name)
        if not isinstance(value, list) or len(value) < least:
            raise _wrong(what, value, f"a list of {least} entries or more")
        return [(f"{what}[{at}]", each) for at, each in enumerate(value)]


def read_fields(text: str) -> Fields:
    """The fields of a record.

    Raises:
        ValueError: the text is no JSON object.
    """
    try:
        document = json.loads(text, parse_constant=_constant)
    except RecursionError as error:
        raise ValueError("its brackets are nested too deeply") from error
    return Fields(_object(document, "all of it"))


def check_shapes(shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse numbers of heads that no model has.

    Args:
        shapes: layers and heads of each kind of attention, "encoder", "decoder" and "cross".

    Raises:
        ValueError: kinds differ in their heads, or the two of the decoder in their layers.
    """
    if len({heads for _, heads in shapes.values()}) > 1 or shapes["decoder"] != shapes["cross"]:
        raise ValueError(f"layers and heads of its kinds of attention do not fit each other: {dict(shapes)}")


def _fields(value: Any, what: str) -> Fields:
    return Fields(_object(value, what), f"{what}.")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(what, value, "an object in braces")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _wrong(what, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} has half a character, which no address or file can hold") from error
    return value


def _whole(value: Any, what: str, least: int) -> int:
    if type(value) is not int or not least <= value <= MOST:
        raise _wrong(what, value, f"a whole number from {least} to {MOST:,}")
    return value


def _number(value: Any, what: str, low: float, high: float) -> float:
    if type(value) not in (int, float) or not low <= value <= high:
        raise _wrong(what, value, f"a number from {low:,} to {high:,}")
    return float(value)


def _choice(value: Any, what: str, known: Collection[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise _wrong(what, value, f"one of: {', '.join(known)}")
    return value


def _nested(value: Any, what: str, axes: int, low: float, high: float, *, gaps: bool) -> Any:
    if axes:
        if not isinstance(value, list) or not value:
            raise _wrong(what, value, "a list that is not empty")
        rows = [_nested(each, f"{what}[{at}]", axes - 1, low, high, gaps=gaps) for at, each in enumerate(value)]
        if axes > 1 and len({len(row) for row in rows}) > 1:
            raise ValueError(f"the rows of {what} are not equally long")
        return rows
    return np.nan if gaps and value is None else _number(value, what, low, high)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number that a record holds")


def _wrong(what: str, value: Any, wanted: str) -> ValueError:
    found = {dict: "an object", list: "a list"}.get(type(value)) or f"{str(value)[:40]!r}"
    return ValueError(f"{what} is {found}; it must be {wanted}")
