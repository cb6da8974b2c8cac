"""The verdict on an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages.ui.lessons.measured import measured_step
from pages.ui.lessons.verdict import verdict
from transformer.lessons.lesson import read_lesson
from transformer.lessons.shelf import lesson_files


@pytest.mark.parametrize(
    ("value", "percent", "said"),
    [
        (0.831, True, {"83": "Right", "90": "Close", "73.5": "Close", "30": "Wrong, too low", "99": "Wrong, too high"}),
        (0.0004, True, {"0": "Right", "5": "Close", "50": "Wrong, too high"}),
        (18, False, {"18": "Right", "17": "Close", "20": "Close", "9": "Wrong, too low", "40": "Wrong, too high"}),
        (9.15, False, {"9.1": "Right", "8": "Close", "3": "Wrong, too low"}),
        (1.0, False, {"1": "Right", "0.9": "Close", "7": "Wrong, too high"}),
    ],
)
def test_guess_is_right_close_or_wrong(shipped, value, percent, said):
    measured = measured_step(shipped, read_lesson(lesson_files()["one_row"]).steps[1])
    asked = replace(
        measured,
        step=replace(measured.step, percent=percent),
        finding=replace(measured.finding, values={**measured.finding.values, "sum": value}),
        question=replace(measured.question, number=100 * value if percent else float(value)),
    )
    for guess, judged in said.items():
        assert verdict(asked, guess) == f"**{judged}.** You said {guess}{'%' if percent else ''}."


def test_choice_is_right_or_wrong(shipped):
    measured = measured_step(shipped, read_lesson(lesson_files()["why_attention"]).steps[3])
    assert measured.question.choices == ("animal", "street")
    assert verdict(measured, "1") == "**Right.**"
    assert verdict(measured, "2") == "**Wrong.** You said “street”; the answer is “animal”."
    assert verdict(measured, "shown") == verdict(measured, "") == verdict(measured, "7") == ""
