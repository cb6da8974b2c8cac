"""A lesson as a file: complete, and with no markup of a teacher in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages.ui.lessons.handouts import lesson_file, sheet
from pages.ui.lessons.measured import measured_step
from transformer.lessons.lesson import read_lesson
from transformer.lessons.shelf import lesson_files

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def lesson():
    return read_lesson(lesson_files()["one_row"])


def test_the_sheet_for_students_has_no_answer(shipped, lesson):
    students, teachers = (sheet(lesson, shipped, answers=answers) for answers in (False, True))
    for step in lesson.steps:
        measured = measured_step(shipped, step)
        reveal = measured.plain(step.reveal)
        assert reveal not in students and reveal in teachers
        assert measured.plain(step.question) in students
    assert students.count("<td></td><td></td>") == sum(bool(step.question) for step in lesson.steps)


def test_the_file_needs_nothing_else(shipped, lesson):
    text = lesson_file(lesson, shipped)
    assert text.count("data-map=") == len(lesson.steps) and "default-src 'none'" in text
    assert "src=" not in text and "href=" not in text.replace("{ href: address", "")


def test_markup_stays_text(shipped, lesson):
    steps = tuple(replace(step, look_for=HOSTILE) for step in lesson.steps)
    hostile = replace(lesson, title=HOSTILE, summary=HOSTILE, steps=steps)
    for text in (sheet(hostile, shipped, answers=True), lesson_file(hostile, shipped)):
        assert HOSTILE not in text and "<img" not in text
    assert "<" not in measured_step(shipped, steps[0]).markdown(HOSTILE).replace("\\<", "")
