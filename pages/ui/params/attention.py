"""URL parameters of the shown head, its display settings and its pinned tokens, shared by all pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.fields import Params, flag, index, integer, integers, matching, one_of
from transformer.values.trace import Kind

SCALES = (FIXED, EACH_HEAD, SQUARE_ROOT) = ("0 to 1", "each head its own", "square root")
LOOKS = ("map", "lines")
PALETTES = ("viridis", "cividis", "magma", "paper")
MAX_THRESHOLD = 50
# An upper limit for indices, above the number of layers, heads or tokens of any model here. It also exceeds the number
# of frames in half a minute of sound.
MAX_INDEX = 9_999
# The maximum number of indices in a list.
MAX_COUNT = 999
# Value of a layer or head that the user has not chosen.
UNCHOSEN = -1


def pins() -> tuple[int, ...]:
    """Return a field of pinned positions; none by default."""
    return integers((), 0, MAX_INDEX, count=MAX_COUNT)


@dataclass(frozen=True)
class AttentionParams(Params):
    """One head and its display settings; numbers count from 0, like array indices.

    Attributes:
        layer, head: the indices of the layer and the head; UNCHOSEN for the sentence's most informative head.
        words: whether tokens are merged into words.
        hide: whether start and end symbols are hidden.
        scale: the colour scale, one of SCALES.
        palette: the colours, one of PALETTES.
        look: the way in which weights are drawn, one of LOOKS.
        threshold: the smallest weight that is shown, in hundredths.
        metric: the name of the metric shown below every head; empty for none.
        rows, columns: the positions of the pinned tokens in the shown kind of attention; `PinParams` has those of all
            kinds.
        shift: whether alignments use the step that reads a token, not the one that predicts it.
    """

    layer: int = index(MAX_INDEX, UNCHOSEN)
    head: int = index(MAX_INDEX, UNCHOSEN)
    words: bool = flag(True)
    hide: bool = flag()
    scale: str = one_of(SCALES)
    palette: str = one_of(PALETTES)
    look: str = one_of(LOOKS)
    threshold: int = integer(0, 0, MAX_THRESHOLD)
    metric: str = matching("([a-z][a-z0-9_]{0,29})?")
    rows: tuple[int, ...] = pins()
    columns: tuple[int, ...] = pins()
    shift: bool = flag()

    @property
    def chosen(self) -> bool:
        """Whether the user chose the layer or the head; if only one of them was chosen, the other is 0."""
        return self.layer != UNCHOSEN or self.head != UNCHOSEN

    def within(self, layers: int, heads: int) -> Self:
        """Return a copy limited to the layers and heads of a model."""
        if not self.chosen:
            return self
        return replace(self, layer=min(max(self.layer, 0), layers - 1), head=min(max(self.head, 0), heads - 1))

    def or_at(self, layer: int, head: int) -> Self:
        """Return a copy with this head chosen, unless the user chose one."""
        return self if self.chosen else replace(self, layer=layer, head=head)

    def unchosen(self) -> Self:
        """Return a copy with no head chosen."""
        return replace(self, layer=UNCHOSEN, head=UNCHOSEN)

    def unpinned(self) -> Self:
        """Return a copy with nothing pinned."""
        return replace(self, rows=(), columns=())

    def pinned_within(self, queries: int, keys: int) -> Self:
        """Return a copy without pins at positions that do not exist."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row < queries),
            columns=tuple(column for column in self.columns if column < keys),
        )

    def for_another_sentence(self) -> Self:
        return self.unpinned()

    def for_another_translation(self) -> Self:
        return self.unpinned()


@dataclass(frozen=True)
class PinParams(Params):
    """The positions of the pinned tokens of each kind of attention, which belong to the current sentences."""

    encoder_rows: tuple[int, ...] = pins()
    encoder_columns: tuple[int, ...] = pins()
    decoder_rows: tuple[int, ...] = pins()
    decoder_columns: tuple[int, ...] = pins()
    cross_rows: tuple[int, ...] = pins()
    cross_columns: tuple[int, ...] = pins()

    def of(self, kind: Kind) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the pinned rows and columns of a kind."""
        return getattr(self, f"{kind}_rows"), getattr(self, f"{kind}_columns")

    def pinned(self, kind: Kind, rows: tuple[int, ...], columns: tuple[int, ...]) -> PinParams:
        """Return a copy with other pinned rows and columns for a kind."""
        return replace(self, **{f"{kind}_rows": rows, f"{kind}_columns": columns})

    def for_another_sentence(self) -> PinParams:
        return PinParams()

    def for_another_translation(self) -> PinParams:
        """Return a copy with only the encoder's pins, because only the encoder does not read the translation."""
        return PinParams(encoder_rows=self.encoder_rows, encoder_columns=self.encoder_columns)
