"""The course that decoding takes and the step that is looked at, as they travel between browser, address and page.

Both the browser and the address are untrusted: what does not exist falls back to what is shown at first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from pages.ui.choice import MOST
from transformer.road import MAX_SIZE, METHODS, MIN_TEMPERATURE, Way
from transformer.tokenizer import END, PAD, START

SHOWS = ("head", "mean", "all")
# What the page offers: beyond it every piece is equally likely, or length alone decides.
MOST_TEMPERATURE = 10.0
MOST_ALPHA = 3.0
# More pieces than any vocabulary here has; more nodes than any tree.
MOST_ID = 999_999
NUMBER = re.compile("[0-9]{1,6}")
DECIMAL = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3})?")
# People count these from 1, arrays from 0.
COUNTED = ("step",)


@dataclass(frozen=True)
class Course:
    """How a translation is written, and what is looked at.

    Attributes:
        step: from 0.
        show: attention of one head, of the mean of all, or of every one: one of SHOWS.
        method, size, alpha, temperature, top_k, top_p, seed: of `Way`.
        forced: ids of the pieces that the translation begins with.
        never: ids not to take, in ascending order.
        node: of the beam's tree, from 1; 0 for none.
    """

    step: int = 0
    show: str = SHOWS[0]
    method: str = METHODS[0]
    size: int = 4
    alpha: float = 0.6
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1
    forced: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    node: int = 0

    @property
    def way(self) -> Way:
        """How pieces are chosen; settings of other methods are left out, so that they decode nothing again."""
        names = {"beam": ("size", "alpha"), "sample": ("temperature", "top_k", "top_p", "seed")}.get(self.method, ())
        return Way(self.method, **{name: getattr(self, name) for name in names})

    @property
    def free(self) -> bool:
        """Whether the model decides every piece."""
        return not (self.forced or self.never)

    def from_the_start(self) -> Course:
        """The same way of decoding, for another sentence: what belongs to the old one is left out."""
        return replace(self, step=0, forced=(), never=(), node=0)

    def within(self, vocabulary: int) -> Course:
        """The same with pieces that exist and can be written; nothing is forced behind an end symbol."""
        forced = self.forced[: self.forced.index(END) + 1] if END in self.forced else self.forced
        if any(piece >= vocabulary or piece in (PAD, START) for piece in forced):
            forced = ()
        never = tuple(sorted({piece for piece in self.never if piece < vocabulary}))
        return replace(self, forced=forced, never=never)

    def to_address(self) -> dict[str, str]:
        """Parameters of an address; what is as at first is left out."""
        written = {}
        for name, value in asdict(self).items():
            if value == getattr(FIRST, name):
                continue
            if name in COUNTED:
                value += 1
            written[name] = ".".join(map(str, value)) if isinstance(value, tuple) else f"{value}"
        return written

    @classmethod
    def from_address(cls, parameters: Mapping[str, str]) -> Course:
        """The course that an address stands for."""
        values: dict[str, Any] = {}
        for field in fields(cls):
            text, first = parameters.get(field.name), getattr(FIRST, field.name)
            if text is None:
                continue
            if isinstance(first, tuple):
                parts = text.split(".")
                values[field.name] = [int(part) for part in parts] if all(map(NUMBER.fullmatch, parts)) else None
            elif isinstance(first, float):
                values[field.name] = float(text) if DECIMAL.fullmatch(text) else None
            elif isinstance(first, int):
                values[field.name] = int(text) - (field.name in COUNTED) if NUMBER.fullmatch(text) else None
            else:
                values[field.name] = text
        return cls.from_browser(values)

    @classmethod
    def from_browser(cls, values: Any) -> Course:
        """The course that the browser sent."""
        if not isinstance(values, Mapping):
            return FIRST
        valid = {name: check(values.get(name)) for name, check in VALID.items()}
        return cls(**{name: value for name, value in valid.items() if value is not None})


FIRST = Course()


def _one_of(*values: str) -> Callable[[Any], Any]:
    return lambda value: value if value in values else None


def _whole(least: int, most: int) -> Callable[[Any], int | None]:
    return lambda value: value if type(value) is int and least <= value <= most else None


def _decimal(least: float, most: float) -> Callable[[Any], float | None]:
    """Three decimals, as many as an address keeps."""

    def check(value: Any) -> float | None:
        right = type(value) in (int, float) and math.isfinite(value) and least <= value <= most
        return round(float(value), 3) if right else None

    return check


def _ids(value: Any) -> tuple[int, ...] | None:
    right = isinstance(value, list | tuple) and len(value) <= MOST and all(
        type(one) is int and 0 <= one <= MOST_ID for one in value
    )
    return tuple(value) if right else None


VALID: dict[str, Callable[[Any], Any]] = {
    "step": _whole(0, MOST), "show": _one_of(*SHOWS), "method": _one_of(*METHODS), "size": _whole(1, MAX_SIZE),
    "alpha": _decimal(0, MOST_ALPHA), "temperature": _decimal(MIN_TEMPERATURE, MOST_TEMPERATURE),
    "top_k": _whole(0, MOST_ID), "top_p": _decimal(0.01, 1), "seed": _whole(0, MOST_ID),
    "forced": _ids, "never": _ids, "node": _whole(0, MOST_ID),
}
