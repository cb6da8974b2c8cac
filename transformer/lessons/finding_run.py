"""Wraps the measurement of a claim in a `Run`, so that findings are cached like the results of other runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.lessons.claims.registry import Finding, Value, measure_claim
from transformer.lessons.evidence import Evidence
from transformer.running.remembered_runs import ModelRuns
from transformer.values.run import Run, Stated


@dataclass(frozen=True)
class FindingRun(Run[Finding]):
    """Model run that tests a claim on a sentence.

    Attributes:
        sentence: sentence to test the claim on.
        claim: name of the claim.
        parameters: the claim's parameters, as (name, value) pairs.
    """

    sentence: str
    claim: str
    parameters: tuple[tuple[str, Value], ...]

    uses = "results"
    message = "Measuring …"

    def compute(self, runs: ModelRuns) -> Finding:
        return measure_claim(self.claim, dict(self.parameters), Evidence(runs, self.sentence))

    def states(self, result: Finding) -> Mapping[str, Stated]:
        return result.values
