"""Runs that ask what mattered for a prediction; they use the weights, and so stay where these are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from transformer.attribution.attribution import Attribution, Method, Target
from transformer.attribution.deletion import DeletionCurves
from transformer.attribution.direct_logits import DirectLogits, direct_logits
from transformer.running.runs.trace import TraceRun
from transformer.values.run import Run
from transformer.values.trace import Trace

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class AttributionRun(Run[Attribution]):
    """What mattered for tokens that a trace predicts, by one method.

    Attributes:
        trace: that predicts them.
        method, targets, words: of `Translator.attribute`; no targets are all tokens.

    Raises: those of `Translator.attribute`.
    """

    trace: TraceRun
    method: Method
    targets: tuple[Target, ...] = ()
    words: bool = False

    uses = "weights"
    message = "Asking what mattered …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun]:
        return (replace(self.trace, details=True),)

    def compute(self, runs: Translator, trace: Trace) -> Attribution:
        return runs.attribute(trace, self.method, self.targets or None, words=self.words)


@dataclass(frozen=True)
class DeletionRun(Run[DeletionCurves]):
    """How fast a prediction falls when columns of the source go in the order of a method.

    Attributes:
        attribution: that orders them; of its first target.
        columns: of the source, to be deleted.

    Raises: those of `Translator.deletion_curves`.
    """

    attribution: AttributionRun
    columns: tuple[int, ...]

    uses = "weights"
    message = "Deleting words …"
    long = True

    @property
    def needs(self) -> tuple[AttributionRun, TraceRun]:
        return self.attribution, *self.attribution.needs

    def compute(self, runs: Translator, attribution: Attribution, trace: Trace) -> DeletionCurves:
        return runs.deletion_curves(trace, attribution, self.columns)


@dataclass(frozen=True)
class DirectLogitsRun(Run[DirectLogits]):
    """What every component of the decoder adds to a logit.

    Attributes:
        trace: that predicts it.
        target: which logit.

    Raises:
        ValueError: the model is post-norm.
    """

    trace: TraceRun
    target: Target

    uses = "weights"
    message = "Taking the logit apart …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun]:
        return (replace(self.trace, details=True),)

    def compute(self, runs: Translator, trace: Trace) -> DirectLogits:
        return direct_logits(trace, runs.weights(), [self.target])
