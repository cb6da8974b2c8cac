"""Run that computes head metrics from a trace."""

from dataclasses import dataclass
from typing import Any

from transformer.analysis.heads.metrics import HeadMetrics, head_metrics
from transformer.values.kinds import Kind
from transformer.values.run import Run
from transformer.values.trace import Trace


@dataclass(frozen=True)
class MetricsRun(Run[HeadMetrics]):
    """Computes the head metrics for one attention kind from a trace.

    Attributes:
        trace: run whose result is the trace.
        kind: attention kind.
    """

    trace: Run[Trace]
    kind: Kind

    uses = "results"

    @property
    def needs(self) -> tuple[Run[Trace]]:
        return (self.trace,)

    def compute(self, runs: Any, trace: Trace) -> HeadMetrics:
        return head_metrics(trace, self.kind, runs.tokenizer.key_scores(self.kind))
