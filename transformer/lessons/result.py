"""A step with the numbers of the model in its texts."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.errors import AtlasError, LessonError
from transformer.lessons.claims import Finding, measured
from transformer.lessons.evidence import Evidence, Runs
from transformer.lessons.lesson import Lesson, Step
from transformer.lessons.template import filled


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


def finding_of(step: Step, runs: Runs) -> Finding:
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


def broken_claims(lesson: Lesson, runs: Runs) -> list[str]:
    """What is wrong with a lesson on a model: claims that do not hold, cannot be measured, or leave nothing to ask."""
    broken = []
    for number, step in enumerate(lesson.steps, 1):
        try:
            finding = finding_of(step, runs)
            question_of(step, finding)
            for text in (step.look_for, step.question, step.reveal):
                filled(text, finding.values)
        # What the model refuses, such as a sentence that is too long, is as wrong with a lesson.
        except AtlasError as error:
            broken.append(f"step {number}, claim {step.claim}: {error}")
            continue
        if not finding.holds:
            found = ", ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
                for name, value in finding.values.items()
            )
            broken.append(f"step {number}, claim {step.claim}: it does not hold on this model; measured: {found}")
    return broken
