"""Counts a lecture audience's votes on one question. A random string from each browser identifies the voter."""

import secrets
from dataclasses import dataclass, field
from typing import Any

# Maximum numbers of ballots, of choices, and of characters in a text. They limit memory use.
MAX_BALLOTS = 5_000
MAX_CHOICES = 8
MAX_CHARACTERS = 400


class VoteError(Exception):
    """Raised for an invalid request about a vote.

    Attributes:
        status: HTTP status of the response.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class BallotBox:
    """One question, the ballots on it, and the model's answer. A box has at most one question at a time.

    Attributes:
        stage: number that changes whenever a vote is opened, closed, revealed or removed. The first number is random,
            so that a browser notices a server restart.
        status: "none", "open", "closed" or "revealed".
        vote: stage at which the vote was opened; every ballot states this number.
        question, choices: texts shown to the voters.
        ballots: index of each voter's choice, by the random string that identifies the voter.
        revealed: the model's answer; empty before the reveal. `answer` is the index of a choice, `shares` are the
            choices' probabilities or an empty tuple, and `says` is a sentence.
    """

    stage: int = field(default_factory=lambda: secrets.randbelow(1 << 30))
    status: str = "none"
    vote: int = 0
    question: str = ""
    choices: tuple[str, ...] = ()
    ballots: dict[str, int] = field(default_factory=dict)
    revealed: dict[str, Any] = field(default_factory=dict)

    def open(self, question: str, choices: tuple[str, ...]) -> None:
        """Open a vote, replacing any previous vote.

        Raises:
            VoteError: the question or a choice is empty or too long, there are too few or too many choices, or two
                choices are equal.
        """
        if not 2 <= len(choices) <= MAX_CHOICES or len(set(choices)) < len(choices):
            raise VoteError(400, f"A vote must have 2 to {MAX_CHOICES} choices, all different.")
        if not all(0 < len(text) <= MAX_CHARACTERS for text in (question, *choices)):
            raise VoteError(400, f"The question and each choice must have 1 to {MAX_CHARACTERS} characters.")
        self._to("open")
        self.vote, self.question, self.choices = self.stage, question, choices
        self.ballots, self.revealed = {}, {}

    def put(self, vote: int, voter: str, choice: int) -> None:
        """Count a ballot, replacing any earlier ballot from the same voter.

        Raises:
            VoteError: this vote is not open, the choice does not exist, or the box is full.
        """
        if self.status != "open" or vote != self.vote:
            raise VoteError(409, "This vote is closed.")
        if not 0 <= choice < len(self.choices):
            raise VoteError(400, "This choice does not exist.")
        if voter not in self.ballots and len(self.ballots) >= MAX_BALLOTS:
            raise VoteError(503, "This vote has too many voters.")
        self.ballots[voter] = choice

    def close(self) -> None:
        """Close the vote, so that no more ballots are accepted.

        Raises:
            VoteError: no vote is open.
        """
        if self.status != "open":
            raise VoteError(409, "No vote is open.")
        self._to("closed")

    def reveal(self, answer: int, shares: tuple[float, ...], says: str) -> None:
        """Show the model's answer to everyone.

        Raises:
            VoteError: the vote is still open, already revealed or missing, or the model's answer does not fit the
                question.
        """
        if self.status != "closed":
            raise VoteError(409, f"Only a closed vote can be revealed; the status of this vote is “{self.status}”.")
        if not 0 <= answer < len(self.choices) or len(shares) not in (0, len(self.choices)):
            raise VoteError(400, "The answer must be one of the choices, with a probability for every choice or none.")
        self._to("revealed")
        self.revealed = {"answer": answer, "shares": shares, "says": says[: 4 * MAX_CHARACTERS]}

    def clear(self) -> None:
        """Remove the vote and all ballots."""
        self._to("none")
        self.question, self.choices, self.ballots, self.revealed = "", (), {}, {}

    def state(self, *, lecturer: bool) -> dict[str, Any]:
        """Return the vote's data for a browser.

        The lecturer always sees the counts, the audience only after the reveal.
        """
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
