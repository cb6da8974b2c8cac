import pytest

from pages.ui.runs.inference import CachedRuns
from transformer.lessons.claims import CLAIMS
from transformer.lessons.folders import SHIPPED_FOLDER, id_of
from transformer.lessons.lesson import read_lesson
from transformer.lessons.result import finding_of, question_of, values_not_in_figures
from transformer.lessons.template import fill

LESSONS = [read_lesson(path) for path in sorted(SHIPPED_FOLDER.glob("*.toml"))]
STEPS = [
    pytest.param(step, id=f"{lesson.id}-{number}-{step.claim}")
    for lesson in LESSONS
    for number, step in enumerate(lesson.steps, 1)
]


@pytest.mark.parametrize("step", STEPS)
def test_every_claim_of_a_shipped_lesson_is_true_for_the_shipped_model(shipped, step):
    # The model runs are cached, because the steps of a lesson share them.
    finding = finding_of(step, CachedRuns(shipped))
    assert finding.holds, dict(finding.values)
    assert set(finding.values) == set(CLAIMS[step.claim].values), "as it was registered"
    question_of(step, finding)
    for text in (step.look_for, step.question, step.reveal):
        # Filling in values leaves no placeholder.
        assert "{" not in fill(text, finding.values)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)
def test_figure_of_a_lesson_step_shows_the_answer(shipped, lesson):
    assert values_not_in_figures(lesson, CachedRuns(shipped)) == []


def test_lesson_ids_are_unique():
    assert len({id_of(path) for path in SHIPPED_FOLDER.glob("*.toml")}) == len(LESSONS) >= 9


def test_shipped_lessons_use_every_type_of_claim_except_sampled():
    assert {step.claim for lesson in LESSONS for step in lesson.steps} | {"sampled"} == set(CLAIMS)
