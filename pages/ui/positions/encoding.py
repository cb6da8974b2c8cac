"""What a reader looks at about positions, as it stands in the address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pages.ui.address import Addressed, one_of, whole, wholes
from transformer.trace import KINDS

PARTS = (CURVES, MATRIX, MEASURES, SUM, OTHERS, MATTERS) = (
    "curves", "matrix", "measures", "sum", "others", "matters"
)
MOST_DIMENSIONS = 12


@dataclass(frozen=True)
class Encoding(Addressed):
    """What the page shows; positions and dimensions count from 0, as in the paper.

    Attributes:
        part: of the page, one of PARTS.
        length, width, dimensions: of the curves; `drop` percent of their values are dropped, by `seed`.
        first, second: two positions whose values are compared.
        rows, columns: size of the matrix.
        reach, across: number of positions and width of what is measured.
        offset, start: of the rotation, and the position that it is shown at.
        bits: of the binary counter.
        span: number of positions on which other ways are compared.
        shuffle: seed of the order of the words.
        kind: of attention shown with and without positions.
    """

    PREFIX: ClassVar[str] = "positions_"

    part: str = one_of(PARTS)
    length: int = whole(100, 2, 512)
    width: int = whole(20, 2, 1024)
    dimensions: tuple[int, ...] = wholes((4, 5, 6, 7), 0, 1023, count=MOST_DIMENSIONS)
    drop: int = whole(10, 0, 90)
    seed: int = whole(1, 0, 9999)
    first: int = whole(2, 0, 511)
    second: int = whole(3, 0, 511)
    rows: int = whole(50, 2, 256)
    columns: int = whole(128, 2, 512)
    reach: int = whole(64, 2, 128)
    across: int = whole(512, 2, 512)
    offset: int = whole(5, -100, 100)
    start: int = whole(3, 0, 127)
    bits: int = whole(4, 1, 7)
    span: int = whole(32, 2, 128)
    shuffle: int = whole(1, 0, 9999)
    kind: str = one_of(KINDS, "cross")

    @property
    def even_width(self) -> int:
        """The width of the curves; sines and cosines come in pairs."""
        return self.width // 2 * 2

    @property
    def shown(self) -> tuple[int, ...]:
        """The chosen dimensions that there are; the first ones if there are none of them."""
        there = tuple(each for each in self.dimensions if each < self.even_width)
        return there or tuple(range(min(4, self.even_width)))
