"""What a reader has chosen to look at, as it travels between the browser, the address and the pages.

Both the browser and the address are untrusted: what does not exist falls back to what is shown at first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pages.ui.address import Addressed, index, matching, one_of, switch, whole, wholes

SCALES = (FIXED, EACH_HEAD, SQUARE_ROOT) = ("0 to 1", "each head its own", "square root")
LOOKS = ("map", "lines")
PALETTES = ("viridis", "cividis", "magma", "paper")
MOST_THRESHOLD = 50
# More layers, heads or pieces than any model here has.
MOST = 999


@dataclass(frozen=True)
class Choice(Addressed):
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

    PREFIX: ClassVar[str] = ""

    layer: int = index(MOST)
    head: int = index(MOST)
    words: bool = switch()
    hide: bool = switch()
    scale: str = one_of(SCALES)
    palette: str = one_of(PALETTES)
    look: str = one_of(LOOKS)
    threshold: int = whole(0, 0, MOST_THRESHOLD)
    metric: str = matching("[a-z_]{0,30}")
    rows: tuple[int, ...] = wholes((), 0, MOST, count=MOST)
    columns: tuple[int, ...] = wholes((), 0, MOST, count=MOST)
    shift: bool = switch()

    def within(self, layers: int, heads: int) -> Choice:
        """The same, kept to what a model has."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))

    def pinned_within(self, queries: int, keys: int) -> Choice:
        """The same, with only those pieces pinned that there are."""
        return replace(
            self, rows=tuple(row for row in self.rows if row < queries),
            columns=tuple(column for column in self.columns if column < keys),
        )


FIRST = Choice()
