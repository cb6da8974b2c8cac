"""Runs that attribute a prediction to tokens or components, or that test an attribution by hiding tokens.

These runs are computed in the process that holds the model's weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from transformer.attribution.attribution import Attribution, Method, Target
from transformer.attribution.deletion import DeletionCurves
from transformer.attribution.direct_logits import DirectLogits, direct_logits
from transformer.running.runs.trace import TraceRun
from transformer.values.run import Run, Stated
from transformer.values.trace import Trace

if TYPE_CHECKING:
    from transformer.running.translator import Translator


@dataclass(frozen=True)
class AttributionRun(Run[Attribution]):
    """Attributes a trace's predicted tokens to the source and prefix tokens, by one attribution method.

    Attributes:
        trace: run that produces the trace with the predictions.
        method, targets, words: as in `Translator.attribute`; an empty `targets` means every predicted token.

    Raises: as in `Translator.attribute`.
    """

    trace: TraceRun
    method: Method
    targets: tuple[Target, ...] = ()
    words: bool = False

    uses = "weights"
    message = "Finding out what mattered …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun]:
        return (replace(self.trace, details=True),)

    def compute(self, runs: Translator, trace: Trace) -> Attribution:
        return runs.attribute(trace, self.method, self.targets or None, words=self.words)

    def states(self, result: Attribution) -> Mapping[str, Stated]:
        return {"source": result.source, "prefix": result.prefix, "total": result.total, **result.remainders}


@dataclass(frozen=True)
class DeletionRun(Run[DeletionCurves]):
    """Measures how a prediction's log-probability falls as source columns are hidden one by one.

    A column is a token or a word. Columns are hidden in order of attribution, in reverse order, and in random orders.

    Attributes:
        attribution: run that produces the attribution; the scores of the first target determine the order.
        columns: indices of the source columns to hide; all other columns stay visible.

    Raises: as in `Translator.deletion_curves`.
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

    def states(self, result: DeletionCurves) -> Mapping[str, Stated]:
        return vars(result)


@dataclass(frozen=True)
class DirectLogitsRun(Run[DirectLogits]):
    """Splits a predicted token's logit into the direct contributions of the decoder's components.

    Attributes:
        trace: run that produces the trace with the prediction.
        target: prediction whose logit is split.

    Raises:
        ValueError: the model is post-norm.
    """

    trace: TraceRun
    target: Target

    uses = "weights"
    message = "Splitting the logit …"
    long = True

    @property
    def needs(self) -> tuple[TraceRun]:
        return (replace(self.trace, details=True),)

    def compute(self, runs: Translator, trace: Trace) -> DirectLogits:
        return direct_logits(trace, runs.weights(), [self.target])

    def states(self, result: DirectLogits) -> Mapping[str, Stated]:
        return {"logit": result.logits, "components": result.scores}
