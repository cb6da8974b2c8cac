"""A step with the numbers of the loaded model, computed once for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pages.ui.runs import inference
from pages.ui.runs.inference import RUNS
from pages.ui.text.markup import markdown
from transformer.attribution.attribution import Attribution, Method, Target
from transformer.config import TransformerConfig
from transformer.lessons.claims import Finding, measured
from transformer.lessons.evidence import Evidence
from transformer.lessons.lesson import Step
from transformer.lessons.result import Question, question_of
from transformer.lessons.template import filled
from transformer.running.scoring import Scores
from transformer.running.translator import Translator
from transformer.text.vocabulary import Vocabulary
from transformer.values.decoding_settings import DecodingSettings
from transformer.values.interventions import AS_TRAINED, Interventions
from transformer.values.trace import Trace
from transformer.values.translation import Translation
from transformer.values.weights import Weights

# Private characters, which no lesson may hold, around a value until the text around it is safe.
OPENS, CLOSES = "\ue000", "\ue001"


@dataclass(frozen=True)
class CachedRuns:
    """A translator whose runs are shared with all pages; `transformer.lessons.evidence.Runs`."""

    translator: Translator

    @property
    def config(self) -> TransformerConfig:
        return self.translator.config

    @property
    def tokenizer(self) -> Vocabulary:
        return self.translator.tokenizer

    @property
    def curve(self) -> str:
        return self.translator.curve

    def weights(self) -> Weights:
        return inference.weights(self.translator)

    def translate(self, text: str, settings: DecodingSettings) -> Translation:
        return inference.translate(self.translator, text, settings)

    def trace(
        self, text: str, target: str | None = None, *, details: bool = False, interventions: Interventions = AS_TRAINED
    ) -> Trace:
        run = inference.detailed_trace if details else inference.trace
        return run(self.translator, text, target or "", interventions)

    def score(self, text: str, target: str | None, variants: Sequence[Interventions]) -> Scores:
        return inference.score(self.translator, text, target or "", tuple(variants))

    def attribute(
        self, trace: Trace, method: Method, targets: Sequence[Target], *, words: bool = False
    ) -> Attribution:
        return inference.attribution(self.translator, trace.source_text, "", method, tuple(targets), words)


@dataclass(frozen=True)
class MeasuredStep:
    """A step, and what its claim has found.

    Attributes:
        step: as the lesson has it.
        evidence: that was looked at.
        finding: of the claim.
        question: the choices, or the number to guess.
    """

    step: Step
    evidence: Evidence
    finding: Finding
    question: Question

    def markdown(self, text: str) -> str:
        """Markdown of one of the step's texts, values in bold."""
        marked = filled(text, self.finding.values, lambda value: f"{OPENS}{value}{CLOSES}")
        return markdown(marked).replace(OPENS, "**").replace(CLOSES, "**")

    def plain(self, text: str) -> str:
        """One of the step's texts with its values."""
        return filled(text, self.finding.values)


def measured_step(translator: Translator, step: Step) -> MeasuredStep:
    """A step on a model.

    Raises:
        AtlasError: the step cannot be measured on this sentence; the message says why.
    """
    finding = _finding(translator, step.sentence, step.claim, tuple(sorted(step.parameters.items())))
    return MeasuredStep(step, Evidence(CachedRuns(translator), step.sentence), finding, question_of(step, finding))


@RUNS.remember("Measuring …")
def _finding(
    translator: Translator, sentence: str, claim: str, parameters: tuple[tuple[str, object], ...]
) -> Finding:
    return measured(claim, dict(parameters), Evidence(CachedRuns(translator), sentence))
