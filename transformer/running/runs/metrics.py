"""The run that reads off a trace what every head does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.values.kinds import Kind
from transformer.values.run import Run
from transformer.values.trace import Trace


@dataclass(frozen=True)
class MetricsRun(Run[HeadMetrics]):
    """What every head of a kind does in a trace.

    Attributes:
        trace: a run whose result is one.
        kind: of attention.
    """

    trace: Run[Trace]
    kind: Kind

    uses = "results"

    @property
    def needs(self) -> tuple[Run[Trace]]:
        return (self.trace,)

    def compute(self, runs: Any, trace: Trace) -> HeadMetrics:
        return head_metrics(trace, self.kind, runs.tokenizer.key_scores(self.kind))
