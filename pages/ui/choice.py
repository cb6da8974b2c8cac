"""What a reader has chosen to look at, as it travels between the browser, the address and the pages.

Both the browser and the address are untrusted: what does not exist falls back to what is shown at first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

SCALES = (FIXED, EACH_HEAD, SQUARE_ROOT) = ("0 to 1", "each head its own", "square root")
LOOKS = ("map", "lines")
PALETTES = ("viridis", "cividis", "magma", "paper")
MOST_THRESHOLD = 50
# More layers, heads or pieces than any model here has.
MOST = 999
NAME = re.compile("[a-z_]{0,30}")
NUMBER = re.compile("[0-9]{1,3}")


@dataclass(frozen=True)
class Choice:
    """One head, and how it is shown; numbers count from 0, as arrays do.

    Attributes:
        layer, head: which.
        words: pieces merged into words.
        hide: start and end symbols hidden.
        scale: of the colours, one of SCALES.
        palette: one of PALETTES.
        look: one of LOOKS.
        threshold: weights below so many hundredths are left out.
        metric: name of the number shown below every head; empty for none.
        rows, columns: positions of the pieces that are pinned.
        shift: alignments read off the step that reads a piece, not the one that predicts it.
    """

    layer: int = 0
    head: int = 0
    words: bool = False
    hide: bool = False
    scale: str = FIXED
    palette: str = PALETTES[0]
    look: str = LOOKS[0]
    threshold: int = 0
    metric: str = ""
    rows: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    shift: bool = False

    def within(self, layers: int, heads: int) -> Choice:
        """The same, kept to what a model has."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))

    def pinned_within(self, queries: int, keys: int) -> Choice:
        """The same, with only those pieces pinned that there are."""
        return replace(
            self, rows=tuple(row for row in self.rows if row < queries),
            columns=tuple(column for column in self.columns if column < keys),
        )

    def to_address(self) -> dict[str, str]:
        """Parameters of an address; what is as at first is left out. People count layers and heads from 1."""
        written = {}
        for name, value in asdict(self).items():
            if value == getattr(FIRST, name):
                continue
            if name in ("layer", "head"):
                value += 1
            written[name] = ".".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
        return written


FIRST = Choice()


def _one_of(*values: str) -> Callable[[Any], Any]:
    return lambda value: value if value in values else None


def _number(least: int, most: int) -> Callable[[Any], int | None]:
    return lambda value: value if type(value) is int and least <= value <= most else None


def _positions(value: Any) -> tuple[int, ...] | None:
    right = isinstance(value, list | tuple) and len(value) <= MOST and all(
        type(one) is int and 0 <= one <= MOST for one in value
    )
    return tuple(value) if right else None


VALID: dict[str, Callable[[Any], Any]] = {
    "layer": _number(0, MOST), "head": _number(0, MOST),
    "words": lambda value: value if isinstance(value, bool) else None,
    "hide": lambda value: value if isinstance(value, bool) else None,
    "scale": _one_of(*SCALES), "palette": _one_of(*PALETTES), "look": _one_of(*LOOKS),
    "threshold": _number(0, MOST_THRESHOLD),
    "metric": lambda value: value if isinstance(value, str) and NAME.fullmatch(value) else None,
    "rows": _positions, "columns": _positions,
    "shift": lambda value: value if isinstance(value, bool) else None,
}


def from_browser(values: Any) -> Choice:
    """The choice that the browser sent."""
    if not isinstance(values, Mapping):
        return FIRST
    valid = {name: check(values.get(name)) for name, check in VALID.items()}
    return Choice(**{name: value for name, value in valid.items() if value is not None})


def from_address(parameters: Mapping[str, str]) -> Choice:
    """The choice that an address stands for."""
    values: dict[str, Any] = {}
    for field in fields(Choice):
        text, first = parameters.get(field.name), getattr(FIRST, field.name)
        if text is None:
            continue
        if isinstance(first, bool):
            values[field.name] = text == "true"
        elif isinstance(first, int):
            shift = 1 if field.name in ("layer", "head") else 0
            values[field.name] = int(text) - shift if NUMBER.fullmatch(text) else None
        elif isinstance(first, tuple):
            parts = text.split(".")
            values[field.name] = [int(part) for part in parts] if all(map(NUMBER.fullmatch, parts)) else None
        else:
            values[field.name] = text
    return from_browser(values)
