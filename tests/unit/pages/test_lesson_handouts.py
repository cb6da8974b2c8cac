from dataclasses import replace

import pytest

from pages.ui.lessons.handouts import handout, lesson_file, worksheet
from pages.ui.lessons.measured_step import measured_step
from transformer.errors import LessonError
from transformer.lessons.folders import lesson_files
from transformer.lessons.lesson import read_lesson

UNTRUSTED = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def lesson():
    return read_lesson(lesson_files()["one_row"])


def test_student_worksheet_contains_no_answers(shipped, lesson):
    students, teachers = (worksheet(lesson, shipped, answers=answers) for answers in (False, True))
    for step in lesson.steps:
        measured = measured_step(shipped, step)
        reveal = measured.plain(step.reveal)
        assert reveal not in students and reveal in teachers
        assert measured.plain(step.question) in students
    assert students.count("<td></td><td></td>") == sum(bool(step.question) for step in lesson.steps)


def test_lesson_file_is_self_contained(shipped, lesson):
    text = lesson_file(lesson, shipped)
    assert text.count("data-map=") == len(lesson.steps) and "default-src 'none'" in text
    assert "src=" not in text and "href=" not in text.replace("{ href: address", "")


def test_markup_in_a_lesson_is_escaped(shipped, lesson):
    steps = tuple(replace(step, look_for=UNTRUSTED) for step in lesson.steps)
    untrusted = replace(lesson, title=UNTRUSTED, summary=UNTRUSTED, steps=steps)
    for text in (worksheet(untrusted, shipped, answers=True), lesson_file(untrusted, shipped)):
        assert UNTRUSTED not in text and "<img" not in text
    assert "<" not in measured_step(shipped, steps[0]).markdown(UNTRUSTED).replace("\\<", "")


@pytest.mark.parametrize("broken", ["claim", "figure"])
@pytest.mark.parametrize(
    "write",
    [
        lambda lesson, model: worksheet(lesson, model, answers=False),
        lambda lesson, model: worksheet(lesson, model, answers=True),
        lesson_file,
    ],
    ids=["for students", "with answers", "all of it"],
)
def test_printed_lesson_names_the_step_that_cannot_be_measured(shipped, lesson, write, broken):
    """The user would not see an exception that is raised while a download is built."""
    first, second, third, *others = lesson.steps
    changed = (
        replace(third, parameters={**third.parameters, "row": "<b>zebra"})
        if broken == "claim"
        else replace(third, figure={**third.figure, "row": "<b>zebra"})
    )
    damaged = replace(lesson, steps=(first, second, changed, *others))
    if broken == "figure" and write is not lesson_file:
        assert handout(damaged, lambda: write(damaged, shipped)) == write(lesson, shipped), "a sheet has no figures"
        return
    with pytest.raises(LessonError, match="step 3: there is no word"):
        write(damaged, shipped)
    text = handout(damaged, lambda: write(damaged, shipped))
    assert "This lesson cannot be exported: step 3: there is no word &#x27;&lt;b&gt;zebra&#x27; in" in text
    assert "<b>" not in text and lesson.title in text and text.endswith("</html>")
