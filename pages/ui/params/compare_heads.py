"""URL parameters of the "Compare heads" page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pages.ui.params import language_model
from pages.ui.params.attention import MAX_INDEX, UNCHOSEN
from pages.ui.params.fields import Params, flag, index, matching, one_of, parsed
from pages.ui.params.pages import part_of
from transformer.checkpoints.available_models import NAME
from transformer.values.trace import KINDS, Kind

SEPARATOR = "."
# Value that stands for a model with random weights; no folder has this name.
UNTRAINED = "-"


@dataclass(frozen=True)
class Pin:
    """A head on a sentence; layer and head count from 0.

    Attributes:
        words: whether tokens are merged into words.
    """

    kind: Kind
    layer: int
    head: int
    words: bool
    text: str

    def __str__(self) -> str:
        """Return the pin's text in an address, where layer and head count from 1."""
        size = "words" if self.words else "tokens"
        return SEPARATOR.join([self.kind, str(self.layer + 1), str(self.head + 1), size, self.text])

    @classmethod
    def parse(cls, text: str) -> Pin | None:
        """Parse a pin from its text in an address; return None if it is invalid."""
        kind, *numbers, size, sentence = (*text.split(SEPARATOR, 4), "", "", "", "")[:5]
        if kind not in KINDS or not all(number.isascii() and number.isdigit() for number in numbers):
            return None
        if not all(len(number) <= 2 and int(number) > 0 for number in numbers) or not sentence.strip():
            return None
        layer, head = map(int, numbers)
        return cls(kind, layer - 1, head - 1, size == "words", sentence)

    def within(self, layers: int, heads: int) -> Pin:
        """Return a copy limited to the layers and heads of a model."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))


TIRED = Pin("encoder", 5, 0, True, "The animal didn't cross the street because it was too tired.")
WIDE = replace(TIRED, text="The animal didn't cross the street because it was too wide.")
# The default pin of a language model.
CAT = Pin("decoder", 5, 4, True, language_model.FIRST)
MAT = replace(CAT, text=language_model.SECOND)


@dataclass(frozen=True)
class CompareParams(Params, prefix="compare_"):
    """Settings of the page.

    Attributes:
        part: the shown part of the page.
        kind: the kind of attention.
        metric: the name of the metric that the maps of all heads show.
        named: whether the table leaves out heads without a name.
        row: the position of the token that is followed through the layers, from 0; UNCHOSEN lets the page choose.
        other: the name of the second model's folder, or UNTRAINED; empty for the first other folder.
        a, b: the two compared heads of a translator.
        text_a, text_b: the two compared heads of a language model.
    """

    part: str = part_of("compare_heads")
    kind: Kind = one_of(KINDS)
    metric: str = matching("[a-z][a-z0-9_]{0,29}", "confidence")
    named: bool = flag()
    row: int = index(MAX_INDEX, UNCHOSEN)
    other: str = matching(f"{UNTRAINED}|{NAME.pattern}")
    a: Pin = parsed(TIRED, Pin.parse)
    b: Pin = parsed(WIDE, Pin.parse)
    text_a: Pin = parsed(CAT, Pin.parse)
    text_b: Pin = parsed(MAT, Pin.parse)
