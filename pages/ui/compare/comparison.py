"""What a reader compares, as it stands in the address; untrusted, like everything from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from transformer.trace import KINDS, Kind

PARTS = (HEADS, SIMILARITY, VERSUS, LAYERS) = ("heads", "similarity", "versus", "layers")
SEPARATOR = "."


@dataclass(frozen=True)
class Pin:
    """One head on one sentence; layer and head count from 0.

    Attributes:
        words: pieces merged into words.
    """

    kind: Kind
    layer: int
    head: int
    words: bool
    text: str

    def to_address(self) -> str:
        return SEPARATOR.join(
            [self.kind, str(self.layer + 1), str(self.head + 1), "words" if self.words else "pieces", self.text]
        )

    @classmethod
    def from_address(cls, value: str, otherwise: Pin) -> Pin:
        """The pin that a parameter stands for; `otherwise` if it stands for none."""
        kind, *numbers, words, text = (*value.split(SEPARATOR, 4), "", "", "", "")[:5]
        if kind not in KINDS or not all(number.isascii() and number.isdigit() for number in numbers):
            return otherwise
        if not all(len(number) <= 2 and int(number) > 0 for number in numbers) or not text.strip():
            return otherwise
        layer, head = map(int, numbers)
        return cls(kind, layer - 1, head - 1, words == "words", text)

    def within(self, layers: int, heads: int) -> Pin:
        """The same, kept to what a model has."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))


@dataclass(frozen=True)
class Comparison:
    """What the page shows.

    Attributes:
        part: of the page, one of PARTS.
        kind: of attention.
        metric: name of the number that the maps of all heads show.
        row: position of the piece that is followed through the layers.
        a, b: what is held against each other.
    """

    part: str = HEADS
    kind: Kind = "encoder"
    metric: str = "confidence"
    row: int = 0
    a: Pin = Pin("encoder", 5, 0, True, "The animal didn't cross the street because it was too tired.")
    b: Pin = Pin("encoder", 5, 0, True, "The animal didn't cross the street because it was too wide.")

    def to_address(self) -> dict[str, str]:
        """Parameters of an address; what is as at first is left out."""
        written = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != getattr(FIRST, field.name):
                written[PREFIX + field.name] = value.to_address() if isinstance(value, Pin) else str(value)
        return written

    @classmethod
    def from_address(cls, parameters: Mapping[str, str]) -> Comparison:
        """What an address stands for."""
        part, kind, metric, row, a, b = (parameters.get(PREFIX + field.name, "") for field in fields(cls))
        return cls(
            part=part if part in PARTS else FIRST.part,
            kind=kind if kind in KINDS else FIRST.kind,
            metric=metric or FIRST.metric,
            row=int(row) if row.isascii() and row.isdigit() and len(row) <= 3 else FIRST.row,
            a=Pin.from_address(a, FIRST.a),
            b=Pin.from_address(b, FIRST.b),
        )


# The other pages have parameters of their own in the same address.
PREFIX = "compare_"
FIRST = Comparison()
