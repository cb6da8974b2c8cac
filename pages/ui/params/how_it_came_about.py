"""URL parameters of the "How it came about" page."""

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.asked_token import AskedToken
from pages.ui.params.attention import MAX_INDEX
from pages.ui.params.decoding import MAX_ID
from pages.ui.params.fields import Params, flag, index, integer, one_of
from pages.ui.params.pages import part_of
from transformer.values.kinds import KINDS, Kind

# Special values of `GraphParams.against`: no comparison, and the most likely token other than the predicted one.
NOTHING, RUNNER_UP = -1, -2
# Stands for a number that the user has not chosen; the page then chooses one.
UNCHOSEN = -1


@dataclass(frozen=True)
class GraphParams(Params, prefix="graph_"):
    """Settings of the "How it came about" page.

    Attributes:
        part: the open part of the page.
        position: the 0-based position of the predicted token.
        against: the ID of the token to compare with, or NOTHING or RUNNER_UP.
        most: the maximum number of nodes in the drawn graph.
        path: the 0-based index of the selected path, counted from the largest path; UNCHOSEN for the largest path that
            ends in a head.
        cut: whether the selected path is cut.
        every: whether to cut each drawn path in a separate model run.
        kind, layer, head, query, key: the attention cell whose score is explained; numbers are 0-based.
    """

    OF_TRANSLATION = ("position", "against", "path", "cut", "every")
    OF_SENTENCE = ("query", "key")

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
        """The predicted token that the user chose; None if the page chooses one."""
        if self.position == UNCHOSEN:
            return None
        return AskedToken(self.position, None if self.against in (RUNNER_UP, NOTHING) else self.against)

    def asking(self, token: AskedToken) -> Self:
        """Return a copy that explains a token chosen on another page."""
        return replace(self.at(token.position), against=RUNNER_UP if token.against is None else token.against)

    def at(self, position: int) -> Self:
        """Return a copy that explains the token at another position, with the default comparison and no cut path."""
        return replace(self, position=position, against=RUNNER_UP, path=UNCHOSEN, cut=False, every=False)
