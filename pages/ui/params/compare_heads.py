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
# The name of a model with random weights; no model folder can have this name.
UNTRAINED = "-"


@dataclass(frozen=True)
class Pin:
    """An attention head and a sentence on which to show it; layer and head are 0-based.

    Attributes:
        words: whether tokens are merged into words.
    """

    kind: Kind
    layer: int
    head: int
    words: bool
    text: str

    def __str__(self) -> str:
        """Serialise the pin for a URL, with 1-based numbers for layer and head."""
        size = "words" if self.words else "tokens"
        return SEPARATOR.join([self.kind, str(self.layer + 1), str(self.head + 1), size, self.text])

    @classmethod
    def parse(cls, text: str) -> Pin | None:
        """Parse a pin from a URL; return None if the text is invalid."""
        kind, *numbers, size, sentence = (*text.split(SEPARATOR, 4), "", "", "", "")[:5]
        if kind not in KINDS or not all(number.isascii() and number.isdigit() for number in numbers):
            return None
        if not all(len(number) <= 2 and int(number) > 0 for number in numbers) or not sentence.strip():
            return None
        layer, head = map(int, numbers)
        return cls(kind, layer - 1, head - 1, size == "words", sentence)

    def within(self, layers: int, heads: int) -> Pin:
        """Return a copy for a model with `layers` layers and `heads` heads. Indices that are too large are clipped."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))


TIRED = Pin("encoder", 5, 0, True, "The animal didn't cross the street because it was too tired.")
WIDE = replace(TIRED, text="The animal didn't cross the street because it was too wide.")
# The default pins for a language model.
CAT = Pin("decoder", 5, 4, True, language_model.FIRST)
MAT = replace(CAT, text=language_model.SECOND)


@dataclass(frozen=True)
class CompareParams(Params, prefix="compare_"):
    """Settings of the "Compare heads" page.

    Attributes:
        part: the open part of the page.
        kind: the kind of attention.
        metric: the name of the head metric shown in the overview of all heads.
        named: whether the table leaves out heads without a name.
        row: the 0-based position of the token followed through the layers; UNCHOSEN lets the page choose.
        other: the name of the second model's folder, or UNTRAINED; empty for the first available model.
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
