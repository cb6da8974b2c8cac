"""A bet: a question whose answer is in the numbers of a sentence. Each bet is one file of this package."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from transformer.analysis.words import Group
from transformer.lessons.result import Question

# Choices of a vote: as many as a phone shows at once.
MAX_VOTED = 6


@dataclass(frozen=True)
class Settled:
    """The answer to a bet.

    Attributes:
        question: the choices, and what each is worth.
        reason: plain text: the numbers.
        shares: the model's own probability of each choice, or its share of the attention; empty if there is none.
    """

    question: Question
    reason: str
    shares: tuple[float, ...] = ()

    def for_vote(self) -> Settled:
        """The same with the best choices only, in their order, if there are too many for a vote."""
        question, worth = self.question, self.question.worth
        kept = sorted(sorted(range(len(worth)), key=lambda at: -worth[at])[:MAX_VOTED])
        choices, best = tuple(question.choices[at] for at in kept), kept.index(question.answer)
        some = replace(question, choices=choices, answer=best, worth=tuple(worth[at] for at in kept))
        return replace(self, question=some, shares=tuple(self.shares[at] for at in kept if self.shares))


@dataclass(frozen=True)
class Bet:
    """A question about what a page shows, before its answer is computed.

    Attributes:
        asks: the question, plain text.
        choices: at least two different texts.
        settle: computes the answer. It may run the model.
        places: the positions of each choice in the page's map; empty if it has none.
    """

    asks: str
    choices: tuple[str, ...]
    settle: Callable[[], Settled]
    places: tuple[Group, ...] = ()

    def choice_at(self, positions: Collection[int]) -> str | None:
        """The choice at some positions of the map; None if there is none."""
        places = zip(self.choices, self.places, strict=False)
        return next((choice for choice, place in places if set(place) & set(positions)), None)


def settled(choices: tuple[str, ...], worth: tuple[float, ...], reason: str, shares: tuple[float, ...] = ()) -> Settled:
    """The answer is the choice that is worth most."""
    return Settled(Question(choices, worth.index(max(worth)), worth=worth), reason, shares)
