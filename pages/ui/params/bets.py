"""URL parameters of the bets: the page whose bet is open, and the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pages.ui.params.fields import Params, matching, one_of
from pages.ui.params.lessons import SHOWN
from pages.ui.params.pages import PAGES


@dataclass(frozen=True)
class BetParams(Params, prefix="bet_"):
    """The bet of a page.

    Attributes:
        page: whose bet the user has opened; empty for none.
        answer: the number of a choice, from 1; SHOWN if the user gave up; empty before.
    """

    page: str = one_of(("", *(name for name, page in PAGES.items() if page.bet)))
    answer: str = matching(rf"[1-9][0-9]{{0,2}}|{SHOWN}")

    def for_another_sentence(self) -> Self:
        return type(self)()

    def for_another_translation(self) -> Self:
        return type(self)()

    def on(self, page: str) -> str:
        """Return the answer to a page's bet."""
        return self.answer if self.page == page else ""
