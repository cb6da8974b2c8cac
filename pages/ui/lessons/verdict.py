"""Says whether an answer to a lesson's question is right, close or wrong. Pure."""

from __future__ import annotations

from pages.ui.lessons.measured import MeasuredStep
from pages.ui.params.lessons import SHOWN
from pages.ui.text.markup import markdown

# A guess is right within this share of the measured number, or within half a percent if the question asks for percents.
# It is close within a tenth of the scale. The scale is all of 100%, or from zero to twice the number.
RIGHT, HALF, CLOSE = 0.02, 0.51, 0.1


def verdict(measured: MeasuredStep, answer: str) -> str:
    """Markdown: the user's answer compared with the measured one; empty without an answer.

    Args:
        answer: in the format of `LessonParams.answer`.
    """
    question = measured.question
    if answer in ("", SHOWN) or not measured.step.question:
        return ""
    if measured.step.guess:
        return f"**{_judged(measured, float(answer))}.** You said {float(answer):g}{'%' * measured.step.percent}."
    if not answer.isdecimal() or not 1 <= int(answer) <= len(question.choices):
        return ""
    if int(answer) - 1 == question.answer:
        return "**Right.**"
    said, right = (markdown(question.choices[at]) for at in (int(answer) - 1, question.answer))
    return f"**Wrong.** You said “{said}”; the answer is “{right}”."


def _judged(measured: MeasuredStep, said: float) -> str:
    true, percent = measured.question.number, measured.step.percent
    whole = isinstance(measured.finding.values[measured.step.guess], int) and not percent
    off = abs(said - true)
    if off <= (0 if whole else HALF if percent else RIGHT * abs(true)):
        return "Right"
    if off <= CLOSE * (100 if percent else 2 * abs(true)):
        return "Close"
    return "Wrong, too low" if said < true else "Wrong, too high"
