"""Bets: questions whose answers the model computes. Each bet has a file in the folder of its page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from transformer.analysis.words import Group
from transformer.lessons.result import Question

# Maximum number of choices in a vote: as many as fit on a phone screen.
MAX_VOTE_CHOICES = 6


@dataclass(frozen=True)
class BetAnswer:
    """The answer to a bet.

    Attributes:
        question: the choices, and the value of each choice; the correct one has the highest value.
        reason: plain text with the numbers behind the answer.
        shares: the model's probability of each choice, or the choice's share of the attention; empty if neither
            applies.
    """

    question: Question
    reason: str
    shares: tuple[float, ...] = ()

    def for_vote(self) -> BetAnswer:
        """Return a copy limited to the MAX_VOTED best choices, in their original order."""
        question, worth = self.question, self.question.worth
        best_choices = sorted(sorted(range(len(worth)), key=lambda at: -worth[at])[:MAX_VOTE_CHOICES])
        choices, best = tuple(question.choices[at] for at in best_choices), best_choices.index(question.answer)
        some = replace(question, choices=choices, answer=best, worth=tuple(worth[at] for at in best_choices))
        return replace(self, question=some, shares=tuple(self.shares[at] for at in best_choices if self.shares))


@dataclass(frozen=True)
class Bet:
    """A question about the contents of a page. The answer is not computed until `settle` is called.

    Attributes:
        question: the question, as plain text.
        choices: at least two different texts.
        settle: computes the answer; may run the model.
        places: each choice's positions in the page's map; empty if the choices are not in a map.
    """

    question: str
    choices: tuple[str, ...]
    settle: Callable[[], BetAnswer]
    places: tuple[Group, ...] = ()

    def choice_at(self, positions: Collection[int]) -> str | None:
        """Return the choice at the given positions of the page's map; None if no choice is there."""
        places = zip(self.choices, self.places, strict=False)
        return next((choice for choice, place in places if set(place) & set(positions)), None)


def answer_of_worth(
    choices: tuple[str, ...], worth: tuple[float, ...], reason: str, shares: tuple[float, ...] = ()
) -> BetAnswer:
    """Return an answer whose correct choice is the one with the highest worth."""
    return BetAnswer(Question(choices, worth.index(max(worth)), worth=worth), reason, shares)
