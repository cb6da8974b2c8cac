"""The run that measures a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.lessons.claims.registry import Finding, Value, measured
from transformer.lessons.evidence import Evidence
from transformer.running.remembered_runs import ModelRuns
from transformer.values.run import Run, Stated


@dataclass(frozen=True)
class FindingRun(Run[Finding]):
    """The run that computes the finding of a claim.

    Attributes:
        sentence: that the claim is about.
        claim: its name.
        parameters: of the claim, by name.
    """

    sentence: str
    claim: str
    parameters: tuple[tuple[str, Value], ...]

    uses = "results"
    message = "Measuring …"

    def compute(self, runs: ModelRuns) -> Finding:
        return measured(self.claim, dict(self.parameters), Evidence(runs, self.sentence))

    def states(self, result: Finding) -> Mapping[str, Stated]:
        return result.values
