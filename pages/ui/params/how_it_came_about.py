"""URL parameters of the "How it came about" page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.asked import AskedToken
from pages.ui.params.attention import MAX_INDEX
from pages.ui.params.decoding import MAX_ID
from pages.ui.params.fields import Params, flag, index, integer, one_of
from pages.ui.params.pages import part_of
from transformer.values.kinds import KINDS, Kind

# Ids that stand for no token and for the most likely other token.
NOTHING, RUNNER_UP = -1, -2
# A number that the user has not chosen; the page chooses it.
UNCHOSEN = -1


@dataclass(frozen=True)
class GraphParams(Params, prefix="graph_"):
    """Settings of the page.

    Attributes:
        part: the part of the page.
        position: the position of the predicted token, from 0.
        against: id of the candidate that was not chosen, NOTHING, or RUNNER_UP.
        most: number of nodes of the drawing.
        path: the path of the drawn paths, the largest being 0; UNCHOSEN for the largest into a head.
        cut: the path is cut.
        every: every drawn path is cut, each in a run of its own.
        kind, layer, head, query, key: the cell whose score is explained; numbers from 0.
    """

    part: str = part_of("how_it_came_about")
    position: int = index(MAX_INDEX, UNCHOSEN)
    against: int = integer(RUNNER_UP, RUNNER_UP, MAX_ID)
    most: int = integer(30, 5, 60)
    path: int = index(MAX_INDEX, UNCHOSEN)
    cut: bool = flag()
    every: bool = flag()
    kind: Kind = one_of(KINDS, "cross")
    layer: int = index(MAX_INDEX, UNCHOSEN)
    head: int = index(MAX_INDEX, UNCHOSEN)
    query: int = index(MAX_INDEX, UNCHOSEN)
    key: int = index(MAX_INDEX, UNCHOSEN)

    @property
    def asked(self) -> AskedToken | None:
        """The chosen token; None if the page chooses it."""
        if self.position == UNCHOSEN:
            return None
        return AskedToken(self.position, None if self.against in (RUNNER_UP, NOTHING) else self.against)

    def asking(self, asked: AskedToken) -> Self:
        """Return a copy for a token that was chosen on another page."""
        return replace(self.at(asked.position), against=RUNNER_UP if asked.against is None else asked.against)

    def for_another_sentence(self) -> Self:
        return replace(self.for_another_translation(), query=UNCHOSEN, key=UNCHOSEN)

    def for_another_translation(self) -> Self:
        return self.at(UNCHOSEN)

    def at(self, position: int) -> Self:
        """Return a copy for another predicted token."""
        return replace(self, position=position, against=RUNNER_UP, path=UNCHOSEN, cut=False, every=False)
