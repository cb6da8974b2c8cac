"""Counts the votes of a lecture hall on one question. A voter is a random text that a browser made up."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

# Limits that bound the memory: of ballots on a question, of choices, and of the characters of a text.
MAX_BALLOTS = 5_000
MAX_CHOICES = 8
MAX_CHARACTERS = 400


class VoteError(Exception):
    """A request about a vote that is refused.

    Attributes:
        status: of the HTTP answer.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class BallotBox:
    """One question, its ballots, and what the model says. A box has at most one question at a time.

    Attributes:
        stage: changes whenever a vote is opened, closed, revealed or taken away. Begins at random, so that a browser
            does not take a restarted server for the previous one.
        status: of the vote.
        vote: the stage at which it was opened; ballots name it.
        question, choices: as shown.
        ballots: the choice of each voter, by the text that the voter's browser made up.
        revealed: what the model says: `answer` is the number of its choice, `shares` are its probabilities of the
            choices, if it has some, and `says` is a sentence.
    """

    stage: int = field(default_factory=lambda: secrets.randbelow(1 << 30))
    status: str = "none"
    vote: int = 0
    question: str = ""
    choices: tuple[str, ...] = ()
    ballots: dict[str, int] = field(default_factory=dict)
    revealed: dict[str, Any] = field(default_factory=dict)

    def open(self, question: str, choices: tuple[str, ...]) -> None:
        """Open a vote; the one before it is gone.

        Raises:
            VoteError: the question or a choice is empty or too long, or there are too few or too many choices.
        """
        if not 2 <= len(choices) <= MAX_CHOICES or len(set(choices)) < len(choices):
            raise VoteError(400, f"A vote has 2 to {MAX_CHOICES} different choices.")
        if not all(0 < len(text) <= MAX_CHARACTERS for text in (question, *choices)):
            raise VoteError(400, f"The question and each choice have 1 to {MAX_CHARACTERS} characters.")
        self._to("open")
        self.vote, self.question, self.choices = self.stage, question, choices
        self.ballots, self.revealed = {}, {}

    def put(self, vote: int, voter: str, choice: int) -> None:
        """Put a ballot into the box. A second one of the same voter replaces the first.

        Raises:
            VoteError: this vote is not open, there is no such choice, or the box is full.
        """
        if self.status != "open" or vote != self.vote:
            raise VoteError(409, "This vote is closed.")
        if not 0 <= choice < len(self.choices):
            raise VoteError(400, "There is no such choice.")
        if voter not in self.ballots and len(self.ballots) >= MAX_BALLOTS:
            raise VoteError(503, "This vote has too many voters.")
        self.ballots[voter] = choice

    def close(self) -> None:
        """Accept no more ballots.

        Raises:
            VoteError: no vote is open.
        """
        if self.status != "open":
            raise VoteError(409, "No vote is open.")
        self._to("closed")

    def reveal(self, answer: int, shares: tuple[float, ...], says: str) -> None:
        """Say what the model says, to everyone.

        Raises:
            VoteError: the vote is open, or there is none, or the model's answer is not one to its question.
        """
        if self.status != "closed":
            raise VoteError(409, "First close the vote.")
        if not 0 <= answer < len(self.choices) or len(shares) not in (0, len(self.choices)):
            raise VoteError(400, "The answer does not belong to these choices.")
        self._to("revealed")
        self.revealed = {"answer": answer, "shares": shares, "says": says[: 4 * MAX_CHARACTERS]}

    def clear(self) -> None:
        """Take the vote away, with its ballots."""
        self._to("none")
        self.question, self.choices, self.ballots, self.revealed = "", (), {}, {}

    def state(self, *, lecturer: bool) -> dict[str, Any]:
        """Return what a browser shows. The lecturer sees the counts from the start, the audience after the reveal."""
        state = {
            "stage": self.stage,
            "status": self.status,
            "vote": self.vote,
            "question": self.question,
            "choices": self.choices,
            "lecturer": lecturer,
            "voters": len(self.ballots),
            **self.revealed,
        }
        if lecturer or self.status == "revealed":
            counts = [0] * len(self.choices)
            for choice in self.ballots.values():
                counts[choice] += 1
            state["counts"] = counts
        return state

    def _to(self, status: str) -> None:
        self.stage += 1
        self.status = status
