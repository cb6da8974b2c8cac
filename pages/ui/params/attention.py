"""URL parameters that all pages share: the selected head, the display settings of attention maps, and pinned tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.fields import Params, flag, index, integer, integers, matching, one_of
from transformer.values.trace import Kind

SCALES = (FIXED, EACH_HEAD, SQUARE_ROOT) = ("0 to 1", "each head its own", "square root")
LOOKS = ("map", "lines")
PALETTES = ("viridis", "cividis", "magma", "paper")
MAX_THRESHOLD = 50
# Upper limit for indices. It exceeds the number of layers, heads and tokens of every supported model, and the number of
# frames in 30 seconds of audio.
MAX_INDEX = 9_999
# Maximum length of a list of indices.
MAX_COUNT = 999
# Marks a layer or head that the user has not chosen.
UNCHOSEN = -1


def pins() -> tuple[int, ...]:
    """Return a field for the positions of pinned tokens; empty by default."""
    return integers((), 0, MAX_INDEX, count=MAX_COUNT)


@dataclass(frozen=True)
class AttentionParams(Params):
    """The selected attention head and the display settings of attention maps.

    Indices and positions are 0-based.

    Attributes:
        layer, head: the indices of the layer and head; UNCHOSEN for the sentence's most informative head.
        words: whether tokens are merged into words.
        hide: whether start and end symbols are hidden.
        scale: the colour scale, one of SCALES.
        palette: the colours, one of PALETTES.
        look: how weights are shown, one of LOOKS.
        threshold: the smallest visible weight, in hundredths.
        metric: the name of the head metric shown below each small map; empty for none.
        rows, columns: the positions of the pinned tokens, for the kind of attention on screen; `PinParams` stores
            the pins of every kind.
        shift: whether alignments use the decoding step that reads a token instead of the step that predicts it.
    """

    OF_TRANSLATION = ("rows", "columns")

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
        """Whether the user has chosen a layer or a head. If only one is chosen, `within` sets the other to 0."""
        return self.layer != UNCHOSEN or self.head != UNCHOSEN

    def within(self, layers: int, heads: int) -> Self:
        """Return a copy in which layer and head are limited to the given numbers of layers and heads."""
        if not self.chosen:
            return self
        return replace(self, layer=min(max(self.layer, 0), layers - 1), head=min(max(self.head, 0), heads - 1))

    def or_at(self, layer: int, head: int) -> Self:
        """Return a copy with the given head, unless the user has chosen one."""
        return self if self.chosen else replace(self, layer=layer, head=head)

    def unchosen(self) -> Self:
        """Return a copy with no head chosen."""
        return replace(self, layer=UNCHOSEN, head=UNCHOSEN)

    def unpinned(self) -> Self:
        """Return a copy without pins."""
        return replace(self, rows=(), columns=())

    def pinned_within(self, queries: int, keys: int) -> Self:
        """Return a copy without pins beyond the given numbers of queries and keys."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row < queries),
            columns=tuple(column for column in self.columns if column < keys),
        )


@dataclass(frozen=True)
class PinParams(Params):
    """The positions of the pinned tokens in each kind of attention, for the current sentence and translation."""

    # A new translation keeps the encoder's pins, because the encoder does not read the translation.
    OF_SENTENCE = ("encoder_rows", "encoder_columns")
    OF_TRANSLATION = ("decoder_rows", "decoder_columns", "cross_rows", "cross_columns")

    encoder_rows: tuple[int, ...] = pins()
    encoder_columns: tuple[int, ...] = pins()
    decoder_rows: tuple[int, ...] = pins()
    decoder_columns: tuple[int, ...] = pins()
    cross_rows: tuple[int, ...] = pins()
    cross_columns: tuple[int, ...] = pins()

    def of(self, kind: Kind) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the pinned rows and columns of an attention kind."""
        return getattr(self, f"{kind}_rows"), getattr(self, f"{kind}_columns")

    def pinned(self, kind: Kind, rows: tuple[int, ...], columns: tuple[int, ...]) -> PinParams:
        """Return a copy with new pinned rows and columns for an attention kind."""
        return replace(self, **{f"{kind}_rows": rows, f"{kind}_columns": columns})
