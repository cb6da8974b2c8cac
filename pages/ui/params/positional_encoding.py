"""URL parameters of the "Positional encoding" page."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, integer, integers, one_of
from pages.ui.params.pages import part_of
from transformer.values.trace import KINDS, Kind

MAX_DIMENSIONS = 12


@dataclass(frozen=True)
class PositionsParams(Params, prefix="positions_"):
    """Settings of the "Positional encoding" page.

    Positions are 1-based, as on the page; dimensions are 0-based, as in the paper's formula.

    Attributes:
        part: the open part of the page.
        length, width, dimensions: the number of positions, the model width and the chosen dimensions of the curves.
        drop: the percentage of values that dropout zeroes in the curves.
        seed: the random seed of the dropout.
        first, second: the two positions whose encodings are compared.
        rows, columns: the size of the matrix.
        reach, across: the number of positions and the model width for the distances.
        offset: the number of positions by which the rotation shifts.
        start: the position that is shifted.
        bits: the number of bits of the binary counter.
        span: the number of positions for the alternative encodings.
        shuffle: the seed for shuffling the words.
        kind: the kind of attention to show with and without positional encoding.
    """

    part: str = part_of("positional_encoding")
    length: int = integer(100, 2, 512)
    width: int = integer(20, 2, 1024)
    dimensions: tuple[int, ...] = integers((4, 5, 6, 7), 0, 1023, count=MAX_DIMENSIONS)
    drop: int = integer(10, 0, 90)
    seed: int = integer(1, 0, 9999)
    first: int = integer(3, 1, 512)
    second: int = integer(4, 1, 512)
    rows: int = integer(50, 2, 256)
    columns: int = integer(128, 2, 512)
    reach: int = integer(64, 2, 128)
    across: int = integer(512, 2, 512)
    offset: int = integer(5, -100, 100)
    start: int = integer(4, 1, 128)
    bits: int = integer(4, 1, 7)
    span: int = integer(32, 2, 128)
    shuffle: int = integer(1, 0, 9999)
    kind: Kind = one_of(KINDS, "cross")

    @property
    def even_width(self) -> int:
        """The width for the curves, rounded down to an even number because sines and cosines come in pairs."""
        return self.width // 2 * 2

    @property
    def shown(self) -> tuple[int, ...]:
        """The chosen dimensions that exist at the current width; the first four if none of the chosen ones exists."""
        existing = tuple(dimension for dimension in self.dimensions if dimension < self.even_width)
        return existing or tuple(range(min(4, self.even_width)))
