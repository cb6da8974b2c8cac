"""Runs for attribution graphs, which trace a prediction along paths through the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.attribution.attribution import Target
from transformer.attribution.frozen_layers import FrozenRun
from transformer.attribution.graph import MAX_NODES, AttributionGraph, Path, attribution_graph
from transformer.attribution.paths import path_effects
from transformer.attribution.score_pairs import ScorePairs, score_pairs
from transformer.values.kinds import Kind
from transformer.values.run import Result, Run, Stated
from transformer.values.trace import Trace
from transformer.values.translation import TracedTranslation


@dataclass(frozen=True)
class _OfTrace(Run[Result]):
    """Base class of runs that analyse another run's trace with the model's weights.

    Attributes:
        trace: run whose result is, or contains, a trace with details.
    """

    trace: Run[Any]

    uses = "weights"
    message = "Following the paths …"
    long = True

    @property
    def needs(self) -> tuple[Run[Any]]:
        return (self.trace,)

    def compute(self, runs: Any, found: Trace | TracedTranslation) -> Result:
        return self.result(FrozenRun(found if isinstance(found, Trace) else found.trace, runs.weights()))

    def result(self, run: FrozenRun) -> Result:
        raise NotImplementedError


@dataclass(frozen=True)
class GraphRun(_OfTrace[AttributionGraph]):
    """Computes a prediction's attribution graph.

    Raises:
        ValueError: the trace has interventions, or the model does not use full attention.
    """

    target: Target

    def result(self, run: FrozenRun) -> AttributionGraph:
        return attribution_graph(run, self.target)

    def states(self, result: AttributionGraph) -> Mapping[str, Stated]:
        return {
            "value": result.values[-1],
            "biases": result.biases[-1],
            "absolute flow": result.flow,
            "sizes of the largest edges": -np.sort(-abs(result.edges))[:MAX_NODES],
        }


@dataclass(frozen=True)
class PathEffectsRun(_OfTrace[np.ndarray]):
    """Measures, for each of P paths in the attribution graph, how much cutting it lowers a prediction's logit, [P].

    Raises: as in `GraphRun`.
    """

    target: Target
    paths: tuple[Path, ...]

    message = "Cutting the path …"

    def result(self, run: FrozenRun) -> np.ndarray:
        return path_effects(run, self.target, self.paths)

    def states(self, result: np.ndarray) -> Mapping[str, Stated]:
        return {"effect": result}


@dataclass(frozen=True)
class ScorePairsRun(_OfTrace[ScorePairs]):
    """Splits one attention score into the contributions of pairs of model components.

    Raises: as in `GraphRun`.
    """

    kind: Kind
    layer: int
    head: int
    query: int
    key: int

    def result(self, run: FrozenRun) -> ScorePairs:
        return score_pairs(run, self.kind, self.layer, self.head, self.query, self.key)

    def states(self, result: ScorePairs) -> Mapping[str, Stated]:
        return {"score": result.total, "of the distance": result.distance}
