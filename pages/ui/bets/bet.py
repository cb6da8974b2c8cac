"""Bets: questions that are answered by running the model. A page's bet is defined in the page's folder."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from transformer.analysis.words import Group
from transformer.lessons.result import Question

# Maximum number of choices in a vote, so that all fit on a phone screen.
MAX_VOTE_CHOICES = 6


@dataclass(frozen=True)
class BetAnswer:
    """The answer to a bet.

    Attributes:
        question: the choices, each with a value; the choice with the highest value is correct.
        reason: plain text that justifies the answer with numbers.
        shares: each choice's probability according to the model, or share of the attention; empty if neither applies.
    """

    question: Question
    reason: str
    shares: tuple[float, ...] = ()

    def for_vote(self) -> BetAnswer:
        """Return a copy with only the MAX_VOTE_CHOICES highest-valued choices, in their original order."""
        question, worth = self.question, self.question.worth
        best_choices = sorted(sorted(range(len(worth)), key=lambda at: -worth[at])[:MAX_VOTE_CHOICES])
        choices, best = tuple(question.choices[at] for at in best_choices), best_choices.index(question.answer)
        some = replace(question, choices=choices, answer=best, worth=tuple(worth[at] for at in best_choices))
        return replace(self, question=some, shares=tuple(self.shares[at] for at in best_choices if self.shares))


@dataclass(frozen=True)
class Bet:
    """A question about what a page shows. The answer is computed only when `settle` is called.

    Attributes:
        question: the question, as plain text.
        choices: at least two different texts.
        settle: a function that computes the answer.
        places: for each choice, the token positions in the page's map; empty if the choices are not in a map.
    """

    question: str
    choices: tuple[str, ...]
    settle: Callable[[], BetAnswer]
    places: tuple[Group, ...] = ()

    def choice_at(self, positions: Collection[int]) -> str | None:
        """Return the choice at one of the given token positions in the page's map; None if there is no such choice."""
        places = zip(self.choices, self.places, strict=False)
        return next((choice for choice, place in places if set(place) & set(positions)), None)


def answer_of_worth(
    choices: tuple[str, ...], worth: tuple[float, ...], reason: str, shares: tuple[float, ...] = ()
) -> BetAnswer:
    """Return the answer to a bet; the choice with the highest `worth` is correct."""
    return BetAnswer(Question(choices, worth.index(max(worth)), worth=worth), reason, shares)
