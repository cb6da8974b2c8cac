"""A step with the numbers of the model in its texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from transformer.errors import AtlasError, LessonError
from transformer.lessons.claims import Finding, measured
from transformer.lessons.evidence import Evidence
from transformer.lessons.figures import check_figure
from transformer.lessons.lesson import Lesson, Step
from transformer.lessons.places import places_of, uncarried
from transformer.lessons.template import filled
from transformer.running.remembered_runs import ModelRuns


@dataclass(frozen=True)
class Question:
    """What is asked before the reveal.

    Attributes:
        choices: in the order in which they are shown, each once; empty if a number is asked for.
        answer: place of the right one among them.
        number: what is to be guessed, in per cent if the step asks for that.
    """

    choices: tuple[str, ...]
    answer: int
    number: float


def finding_of(step: Step, runs: ModelRuns) -> Finding:
    """What the claim of a step finds.

    Raises:
        LessonError: the claim cannot be measured on this sentence.
    """
    return measured(step.claim, step.parameters, Evidence(runs, step.sentence))


def question_of(step: Step, finding: Finding) -> Question:
    """The question of a step; its choices are sorted, so that their order does not tell which is right.

    Raises:
        LessonError: the answer is none of the choices or two of them, or what is to be guessed is no number.
    """
    if step.guess:
        value = finding.values[step.guess]
        if isinstance(value, str):
            raise LessonError(f"guess asks for a number, and {step.guess} is the text {value!r}")
        return Question((), 0, 100 * value if step.percent else float(value))
    texts = [filled(choice, finding.values) for choice in step.choices]
    right = filled(step.answer, finding.values) if step.answer else ""
    if texts.count(right) > 1:
        raise LessonError(f"two choices read {right!r}, which is the answer: write another one")
    if right and right not in texts:
        raise LessonError(f"the answer is {right!r}, which is none of the choices: {', '.join(texts)}")
    shown = tuple(sorted(dict.fromkeys(texts), key=str.casefold))
    if step.question and len(shown) < 2:
        raise LessonError(f"all choices read {right!r}")
    return Question(shown, shown.index(right) if right else 0, 0.0)


def figure_of(step: Step, finding: Finding) -> dict[str, Any]:
    """The parameters of a step's figure, with the values that they quote."""
    return {
        name: filled(value, finding.values) if isinstance(value, str) else value for name, value in step.figure.items()
    }


def with_map_before(step: Step) -> Step | None:
    """The step with the map that is shown until its answer; None where it has none."""
    return replace(step, show="map", figure=step.before) if step.before else None


def opened_head(step: Step, finding: Finding, evidence: Evidence) -> tuple[int, int]:
    """Layer and head, from 0, at which a map is done with: the one that the claim found where a step asks for that
    ("head opened"), else the one that the figure names.

    Raises:
        LessonError: the kind that the figure shows has no such head.
    """
    figure = figure_of(step, finding)
    rule = figure["head"]
    if step.next_when == "head opened":
        rule = f"{finding.values['layer']}.{finding.values['head']}"
    return evidence.head(figure["kind"], rule)


def broken_claims(lesson: Lesson, runs: ModelRuns) -> list[str]:
    """What is wrong with a lesson on a model: claims that do not hold, cannot be measured, or leave nothing to ask, and
    figures that name what is not there."""
    broken = []
    for number, step in enumerate(lesson.steps, 1):
        what = f"claim {step.claim}"
        try:
            finding = finding_of(step, runs)
            question_of(step, finding)
            for text in (step.look_for, step.question, step.reveal):
                filled(text, finding.values)
            if not finding.holds:
                broken.append(f"step {number}, {what}: it does not hold on this model; measured: {_written(finding)}")
            what = f"figure {step.show}"
            for shown in filter(None, (step, with_map_before(step))):
                _check_figure(shown, finding, Evidence(runs, step.sentence))
        # What the model refuses, such as a sentence that is too long, is as wrong with a lesson.
        except AtlasError as error:
            broken.append(f"step {number}, {what}: {error}")
    return broken


def uncarried_claims(lesson: Lesson, runs: ModelRuns) -> list[str]:
    """What the texts of a lesson say after the answer that its figures do not show; of a lesson that is not broken."""
    found = []
    for number, step in enumerate(lesson.steps, 1):
        finding, evidence = finding_of(step, runs), Evidence(runs, step.sentence)
        head = opened_head(step, finding, evidence) if "head" in step.figure else None
        places = places_of(step.show, figure_of(step, finding), evidence, head)
        found += [f"step {number}, figure {step.show}: {one}" for one in uncarried(step, finding, places, head)]
    return found


def _check_figure(step: Step, finding: Finding, evidence: Evidence) -> None:
    figure = figure_of(step, finding)
    check_figure(step.show, figure, evidence)
    if step.show == "map":
        head = opened_head(step, finding, evidence)
        if "row" in figure:
            evidence.row(figure["kind"], figure["row"], head)


def _written(finding: Finding) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in finding.values.items()
    )
