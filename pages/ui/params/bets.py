"""URL parameters of a bet, which is a question that users answer before they see the result."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, matching, one_of
from pages.ui.params.lessons import SHOWN
from pages.ui.params.pages import PAGES


@dataclass(frozen=True)
class BetParams(Params, prefix="bet_"):
    """The open bet and the user's answer.

    Attributes:
        page: the page whose bet the user has opened; empty for none.
        answer: the 1-based number of the chosen answer; SHOWN if the user gave up; empty if there is no answer yet.
    """

    OF_TRANSLATION = ("page", "answer")

    page: str = one_of(("", *(name for name, page in PAGES.items() if page.bet)))
    answer: str = matching(rf"[1-9][0-9]{{0,2}}|{SHOWN}")

    def on(self, page: str) -> str:
        """Return the user's answer to a page's bet; empty if there is none or another page's bet is open."""
        return self.answer if self.page == page else ""
