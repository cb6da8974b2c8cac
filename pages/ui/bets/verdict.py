"""Pure functions that judge whether an answer to a question is right, close or wrong."""

from typing import Literal, NamedTuple

from pages.ui.params.lessons import SHOWN
from pages.ui.text.markup import markdown
from transformer.lessons.result import Question

# Tolerances. A guessed percentage is right if it differs from the measured value by at most HALF_WITHIN points. Any
# other guess is right if it differs by at most the fraction RIGHT_WITHIN of the measured value. If `Question.whole` is
# true, the guess must be exact. A guess is close if it differs by at most the fraction CLOSE_WITHIN of a scale: 100 for
# a percentage, otherwise twice the measured value. A wrong choice is close if it is below the best by at most the
# fraction CLOSE_WITHIN of the range from worst to best. Among MANY_CHOICES or more choices, the second best is also
# close.
RIGHT_WITHIN, HALF_WITHIN, CLOSE_WITHIN = 0.02, 0.51, 0.1
MANY_CHOICES = 4


class Verdict(NamedTuple):
    """The verdict on an answer.

    Attributes:
        mark: whether the answer is right, close or wrong.
        text: a Markdown sentence that states the verdict.
    """

    mark: Literal["right", "close", "wrong"]
    text: str


def verdict(question: Question, answer: str) -> Verdict | None:
    """Return the verdict on an answer; None if the user gave no valid answer or asked for the solution.

    Args:
        question: the question.
        answer: the answer in the format of `LessonParams.answer`.
    """
    if answer in ("", SHOWN):
        return None
    if not question.choices:
        judged = _describe_verdict(question, float(answer))
        text = f"**{judged}.** You said {float(answer):g}{'%' * question.percent}."
        return Verdict("right" if judged == "Right" else "close" if judged == "Close" else "wrong", text)
    if not answer.isdecimal() or not 1 <= int(answer) <= len(question.choices):
        return None
    choice = int(answer) - 1
    if choice == question.answer:
        return Verdict("right", "**Right.**")
    choice_text, right = (markdown(question.choices[at]) for at in (choice, question.answer))
    mark = "close" if is_close(question, choice) else "wrong"
    return Verdict(mark, f"**{mark.capitalize()}.** You said “{choice_text}”; the answer is “{right}”.")


def is_close(question: Question, choice: int) -> bool:
    """Return whether a wrong choice is nearly as good as the best choice, or ranks second among many choices."""
    worth = question.worth
    if not worth:
        return False
    better = sum(other > worth[choice] for other in worth)
    near = max(worth) - worth[choice] <= CLOSE_WITHIN * (max(worth) - min(worth))
    return near or (better == 1 and len(worth) >= MANY_CHOICES)


def _describe_verdict(question: Question, guess: float) -> str:
    true, percent = question.number, question.percent
    off = abs(guess - true)
    if off <= (0 if question.whole else HALF_WITHIN if percent else RIGHT_WITHIN * abs(true)):
        return "Right"
    if off <= CLOSE_WITHIN * (100 if percent else 2 * abs(true)):
        return "Close"
    return "Wrong, too low" if guess < true else "Wrong, too high"
