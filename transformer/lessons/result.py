"""Fills a lesson step with values measured on the model, and checks lessons against the model."""

from dataclasses import dataclass, replace
from typing import Any

from transformer.errors import AtlasError, LessonError
from transformer.lessons.claims import Finding, measure_claim
from transformer.lessons.evidence import Evidence
from transformer.lessons.figures import check_figure
from transformer.lessons.lesson import Lesson, LessonStep
from transformer.lessons.places import places_of, values_not_shown
from transformer.lessons.template import fill
from transformer.running.remembered_runs import ModelRuns


@dataclass(frozen=True)
class Question:
    """A question that the user answers before the step reveals the answer.

    Attributes:
        choices: distinct choices in display order; empty if the user guesses a number.
        answer: index of the correct choice.
        number: the number to guess, as a percentage if `percent` is true.
        percent: whether the user guesses a percentage.
        whole: whether the number is an integer, so that only the exact number is correct.
        worth: score of each choice, highest for the best choice; empty if only one choice is correct.
    """

    choices: tuple[str, ...]
    answer: int
    number: float = 0.0
    percent: bool = False
    whole: bool = False
    worth: tuple[float, ...] = ()


def finding_of(step: LessonStep, runs: ModelRuns) -> Finding:
    """Return whether a step's claim holds on the step's sentence, and the measured values.

    Raises:
        LessonError: the claim cannot be measured on the step's sentence.
    """
    return measure_claim(step.claim, step.parameters, Evidence(runs, step.sentence))


def question_of(step: LessonStep, finding: Finding) -> Question:
    """Return a step's question. The choices are sorted, so that their order does not reveal the answer.

    Raises:
        LessonError: the answer matches no choice or several choices, or the value to guess is not a number.
    """
    if step.guess:
        value = finding.values[step.guess]
        if isinstance(value, str):
            raise LessonError(f"guess must name a number, but {step.guess} is the text {value!r}")
        is_whole = isinstance(value, int) and not step.percent
        return Question((), 0, 100 * value if step.percent else float(value), step.percent, is_whole)
    texts = [fill(choice, finding.values) for choice in step.choices]
    right = fill(step.answer, finding.values) if step.answer else ""
    if texts.count(right) > 1:
        raise LessonError(f"two choices read {right!r}, which is the answer: change one of them")
    if right and right not in texts:
        raise LessonError(f"the answer is {right!r}, which is not among the choices: {', '.join(texts)}")
    choices = tuple(sorted(dict.fromkeys(texts), key=str.casefold))
    if step.question and len(choices) < 2:
        raise LessonError(f"all choices read {right!r}: write at least two different choices")
    return Question(choices, choices.index(right) if right else 0)


def figure_of(step: LessonStep, finding: Finding) -> dict[str, Any]:
    """Return the parameters of a step's figure, with measured values in place of the placeholders in texts."""
    return {
        name: fill(value, finding.values) if isinstance(value, str) else value for name, value in step.figure.items()
    }


def with_map_before(step: LessonStep) -> LessonStep | None:
    """Return the step as shown before the user answers, with `before` as its figure; None if `before` is empty."""
    return replace(step, show="map", figure=step.before) if step.before else None


def opened_head(step: LessonStep, finding: Finding, evidence: Evidence) -> tuple[int, int]:
    """Return the 0-based layer and head that a step's map shows.

    If `next_when` is "head opened", the claim's finding determines the head; otherwise, the figure's parameters do.

    Raises:
        LessonError: the figure's attention kind has no such head.
    """
    figure = figure_of(step, finding)
    rule = figure["head"]
    if step.next_when == "head opened":
        rule = f"{finding.values['layer']}.{finding.values['head']}"
    return evidence.head(figure["kind"], rule)


def broken_claims(lesson: Lesson, runs: ModelRuns) -> list[str]:
    """Check a lesson on a model; return one message per error.

    Errors are claims that do not hold or cannot be measured, questions without a valid answer, and figures that name
    something that does not exist.
    """
    broken = []
    for number, step in enumerate(lesson.steps, 1):
        what = f"claim {step.claim}"
        try:
            finding = finding_of(step, runs)
            question_of(step, finding)
            for text in (step.look_for, step.question, step.reveal):
                fill(text, finding.values)
            if not finding.holds:
                broken.append(
                    f"step {number}: the {what} does not hold on this model; measured: {_list_values(finding)}"
                )
            what = f"figure {step.show}"
            for step_shown in filter(None, (step, with_map_before(step))):
                _check_figure(step_shown, finding, Evidence(runs, step.sentence))
        # An input that the model rejects, such as a sentence that is too long, is also an error in the lesson.
        except AtlasError as error:
            broken.append(f"step {number}, {what}: {error}")
    return broken


def values_not_in_figures(lesson: Lesson, runs: ModelRuns) -> list[str]:
    """Return messages about values that an answer names but its figure does not show, and about errors in `carried_by`.

    The lesson must have none of the errors that `broken_claims` reports.
    """
    messages = []
    for number, step in enumerate(lesson.steps, 1):
        finding, evidence = finding_of(step, runs), Evidence(runs, step.sentence)
        head = opened_head(step, finding, evidence) if "head" in step.figure else None
        places = places_of(step.show, figure_of(step, finding), evidence, head)
        messages += [
            f"step {number}, figure {step.show}: {message}" for message in values_not_shown(step, finding, places, head)
        ]
    return messages


def _check_figure(step: LessonStep, finding: Finding, evidence: Evidence) -> None:
    figure = figure_of(step, finding)
    check_figure(step.show, figure, evidence)
    if step.show == "map":
        head = opened_head(step, finding, evidence)
        if "row" in figure:
            evidence.row(figure["kind"], figure["row"], head)


def _list_values(finding: Finding) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in finding.values.items()
    )
