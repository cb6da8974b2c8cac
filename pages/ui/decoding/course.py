"""The course that decoding takes and the step that is looked at, as they travel between browser, address and page.

Both the browser and the address are untrusted: what does not exist falls back to what is shown at first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from pages.ui.address import Addressed, decimal, index, one_of, whole, wholes
from pages.ui.choice import MOST
from transformer.road import MAX_SIZE, METHODS, MIN_TEMPERATURE, Way
from transformer.tokenizer import END, PAD, START

SHOWS = ("head", "mean", "all")
# What the page offers: beyond it every piece is equally likely, or length alone decides.
MOST_TEMPERATURE = 10.0
MOST_ALPHA = 3.0
# More pieces than any vocabulary here has; more nodes than any tree.
MOST_ID = 999_999


@dataclass(frozen=True)
class Course(Addressed):
    """How a translation is written, and what is looked at.

    Attributes:
        step: from 0.
        show: attention of one head, of the mean of all, or of every one: one of SHOWS.
        method, size, alpha, temperature, top_k, top_p, seed: of `Way`.
        forced: ids of the pieces that the translation begins with.
        never: ids not to take, in ascending order.
        node: of the beam's tree, from 1; 0 for none.
    """

    PREFIX: ClassVar[str] = ""

    step: int = index(MOST)
    show: str = one_of(SHOWS)
    method: str = one_of(METHODS)
    size: int = whole(4, 1, MAX_SIZE)
    alpha: float = decimal(0.6, 0, MOST_ALPHA)
    temperature: float = decimal(1.0, MIN_TEMPERATURE, MOST_TEMPERATURE)
    top_k: int = whole(0, 0, MOST_ID)
    top_p: float = decimal(1.0, 0.01, 1)
    seed: int = whole(1, 0, MOST_ID)
    forced: tuple[int, ...] = wholes((), 0, MOST_ID, count=MOST, repeated=True)
    never: tuple[int, ...] = wholes((), 0, MOST_ID, count=MOST)
    node: int = whole(0, 0, MOST_ID)

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


FIRST = Course()
