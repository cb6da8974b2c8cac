"""Checks the claim of a lesson step on the lesson's model; results are cached for all users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pages.ui.runs.inference import CachedRuns
from pages.ui.text.markup import markdown
from transformer.lessons.claims import Finding
from transformer.lessons.evidence import Evidence
from transformer.lessons.finding_run import FindingRun
from transformer.lessons.lesson import LessonStep
from transformer.lessons.result import Question, figure_of, question_of, with_map_before
from transformer.lessons.template import fill
from transformer.running.translator import Translator

# Private-use characters that mark the start and end of each value until the text is escaped.
# A lesson must not contain them.
VALUE_START, VALUE_END = "\ue000", "\ue001"


@dataclass(frozen=True)
class MeasuredStep:
    """A lesson step with the result of checking its claim.

    Attributes:
        step: the step, as defined in the lesson file.
        evidence: model runs on the step's sentence.
        finding: whether the claim holds, and the measured values.
        question: the choices to offer, or the number to guess.
    """

    step: LessonStep
    evidence: Evidence
    finding: Finding
    question: Question

    @property
    def figure(self) -> dict[str, Any]:
        """The parameters of the figure, with measured values filled in."""
        return figure_of(self.step, self.finding)

    @property
    def before(self) -> MeasuredStep | None:
        """A copy whose figure is the attention map that is shown before the answer; None if there is no such map."""
        step = with_map_before(self.step)
        return step and replace(self, step=step)

    def markdown(self, text: str) -> str:
        """Return one of the step's texts as Markdown, with measured values filled in and bold."""
        text_with_marks = fill(text, self.finding.values, lambda value: f"{VALUE_START}{value}{VALUE_END}")
        return markdown(text_with_marks).replace(VALUE_START, "**").replace(VALUE_END, "**")

    def plain(self, text: str) -> str:
        """Return one of the step's texts as plain text, with measured values filled in."""
        return fill(text, self.finding.values)


def finding_run(step: LessonStep) -> FindingRun:
    """Return the model run that checks a step's claim."""
    return FindingRun(step.sentence, step.claim, tuple(sorted(step.parameters.items())))


def measured_step(translator: Translator, step: LessonStep) -> MeasuredStep:
    """Return a step with the result of checking its claim on a model.

    Raises:
        AtlasError: the claim cannot be checked with the step's sentence; the message says why.
    """
    runs = CachedRuns(translator)
    finding = runs.get(finding_run(step))
    return MeasuredStep(step, Evidence(runs, step.sentence), finding, question_of(step, finding))
