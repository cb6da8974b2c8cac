"""Every claim of every shipped lesson, recomputed on the shipped model."""

from __future__ import annotations

import pytest

from pages.ui.runs.inference import CachedRuns
from transformer.lessons.claims import CLAIMS
from transformer.lessons.folders import SHIPPED, id_of
from transformer.lessons.lesson import read_lesson
from transformer.lessons.result import finding_of, question_of, uncarried_claims
from transformer.lessons.template import filled

LESSONS = [read_lesson(path) for path in sorted(SHIPPED.glob("*.toml"))]
STEPS = [
    pytest.param(step, id=f"{lesson.id}-{number}-{step.claim}")
    for lesson in LESSONS
    for number, step in enumerate(lesson.steps, 1)
]


@pytest.mark.parametrize("step", STEPS)
def test_claim_holds(shipped, step):
    # Steps of one lesson use the same runs.
    finding = finding_of(step, CachedRuns(shipped))
    assert finding.holds, dict(finding.values)
    assert set(finding.values) == set(CLAIMS[step.claim].values), "as it was registered"
    question_of(step, finding)
    for text in (step.look_for, step.question, step.reveal):
        # Values may be sentences; without them a step is short enough by its schema.
        assert "{" not in filled(text, finding.values)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)
def test_figure_shows_the_answer(shipped, lesson):
    assert uncarried_claims(lesson, CachedRuns(shipped)) == []


def test_ids_are_unique():
    assert len({id_of(path) for path in SHIPPED.glob("*.toml")}) == len(LESSONS) >= 9


def test_every_claim_is_used():
    assert {step.claim for lesson in LESSONS for step in lesson.steps} | {"sampled"} == set(CLAIMS)
