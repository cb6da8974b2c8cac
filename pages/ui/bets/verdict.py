"""Judges whether an answer to a question is right, close or wrong. Pure functions."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pages.ui.params.lessons import SHOWN
from pages.ui.text.markup import markdown
from transformer.lessons.result import Question

# Tolerances. A guessed number is right within a fraction RIGHT of the measured value; a percentage, within HALF points.
# A guess is close within a fraction CLOSE of a scale: 100 for a percentage, otherwise twice the measured value. A wrong
# choice is close if its worth is within CLOSE of the best, as a fraction of the range from worst to best. Among MANY or
# more choices, the second best is close too.
RIGHT, HALF, CLOSE = 0.02, 0.51, 0.1
MANY = 4


class Verdict(NamedTuple):
    """The verdict on an answer.

    Attributes:
        mark: how good the answer is.
        says: a Markdown sentence that states the verdict.
    """

    mark: Literal["right", "close", "wrong"]
    says: str


def verdict(question: Question, answer: str) -> Verdict | None:
    """Return the verdict on an answer; None if the user gave no valid answer.

    Args:
        question: the question.
        answer: the answer in the format of `LessonParams.answer`.
    """
    if answer in ("", SHOWN):
        return None
    if not question.choices:
        judged = _judged(question, float(answer))
        says = f"**{judged}.** You said {float(answer):g}{'%' * question.percent}."
        return Verdict("right" if judged == "Right" else "close" if judged == "Close" else "wrong", says)
    if not answer.isdecimal() or not 1 <= int(answer) <= len(question.choices):
        return None
    given = int(answer) - 1
    if given == question.answer:
        return Verdict("right", "**Right.**")
    said, right = (markdown(question.choices[at]) for at in (given, question.answer))
    mark = "close" if is_close(question, given) else "wrong"
    return Verdict(mark, f"**{mark.capitalize()}.** You said “{said}”; the answer is “{right}”.")


def is_close(question: Question, given: int) -> bool:
    """Return whether a wrong choice is nearly as good as the best one."""
    worth = question.worth
    if not worth:
        return False
    better = sum(other > worth[given] for other in worth)
    near = max(worth) - worth[given] <= CLOSE * (max(worth) - min(worth))
    return near or (better == 1 and len(worth) >= MANY)


def _judged(question: Question, said: float) -> str:
    true, percent = question.number, question.percent
    off = abs(said - true)
    if off <= (0 if question.whole else HALF if percent else RIGHT * abs(true)):
        return "Right"
    if off <= CLOSE * (100 if percent else 2 * abs(true)):
        return "Close"
    return "Wrong, too low" if said < true else "Wrong, too high"
