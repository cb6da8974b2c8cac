"""URL parameters of the "What mattered" page."""

from dataclasses import dataclass, replace
from typing import Self

from pages.ui.params.asked_token import AskedToken
from pages.ui.params.decoding import MAX_ID
from pages.ui.params.fields import Params, flag, integer, matching, one_of
from pages.ui.params.pages import part_of
from transformer.attribution.attribution import METHODS, Method

WHOLE = "whole"
# The value of `MatteredParams.against` that means no comparison.
NOTHING = -1


@dataclass(frozen=True)
class MatteredParams(Params, prefix="mattered_"):
    """Settings of the "What mattered" page.

    Attributes:
        part: the open part of the page.
        explained: WHOLE for the whole translation, or the 1-based position of a predicted token; if empty, the page
            chooses.
        against: the ID of the token to compare with; NOTHING for no comparison.
        tokens: whether the columns are tokens instead of words.
        slow: whether to run the slow methods even on a long sentence.
        components: whether to show all components of the logit, not only the largest.
        deletion: whether to delete words one by one, in the order given by `method`.
        method: the attribution method that orders the words, one of METHODS.
    """

    OF_TRANSLATION = ("explained", "against")
    OF_SENTENCE = ("slow", "deletion")

    part: str = part_of("what_mattered")
    explained: str = matching(f"{WHOLE}|[1-9][0-9]{{0,2}}")
    against: int = integer(NOTHING, NOTHING, MAX_ID)
    tokens: bool = flag(former="pieces")
    slow: bool = flag()
    components: bool = flag()
    deletion: bool = flag()
    method: Method = one_of(tuple(METHODS), "frozen_gradient")

    @property
    def asked(self) -> AskedToken | None:
        """The predicted token that the user chose; None for the whole translation, or if the page chooses a token."""
        if self.explained in ("", WHOLE):
            return None
        return AskedToken(int(self.explained) - 1, None if self.against == NOTHING else self.against)

    def asking(self, token: AskedToken) -> Self:
        """Return a copy in which the token to explain is `token`, which was chosen on another page."""
        against = NOTHING if token.against is None else token.against
        return replace(self, explained=str(token.position + 1), against=against)
