"""Reruns an experiment, and compares the new results with the results that the experiment claims."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer.errors import AtlasError, ExperimentError
from transformer.experiments.experiment import ClaimedRun, ClaimedValue, Experiment
from transformer.values.run import Stated

# Maximum number of differences to list in a report.
MAX_LISTED = 5


@dataclass(frozen=True)
class Report:
    """Comparison of an experiment's claimed results with newly computed ones.

    Attributes:
        compared: how many numbers and texts were compared.
        tolerance: largest tolerance of any claim.
        differing: one sentence per claim that does not hold.
    """

    compared: int
    tolerance: float
    differing: tuple[str, ...]

    def __str__(self) -> str:
        if not self.differing:
            return f"All {self.compared} recomputed results match to within {self.tolerance:.0e}."
        more = len(self.differing) - MAX_LISTED
        return "\n".join(
            [*self.differing[:MAX_LISTED], *([f"Further claims that differ: {more}."] if more > 0 else [])]
        )


def check_model(experiment: Experiment, version: str, name: str) -> None:
    """Check that an experiment was made with the loaded model.

    Raises:
        ExperimentError: the experiment was made with another model.
    """
    if experiment.model != version:
        raise ExperimentError(
            f"The experiment was made with the model {_model(experiment.name, experiment.model)}, but the "
            f"loaded model is {_model(name, version)}: choose the experiment's model, or load it with --model-dir."
        )


def check(experiment: Experiment, runs: Any) -> Report:
    """Recompute every model run in an experiment, and compare the results with the experiment's claims.

    Args:
        experiment: experiment that was made with the loaded model.
        runs: object with a method `get` that computes model runs, such as a `Translator`.

    Raises:
        ExperimentError: nothing is claimed, a model run cannot be computed, or its result lacks a claimed value.
        AtlasError: raised by a model run.
    """
    claims = [(part, name, claim) for part in experiment.parts for name, claim in part.claims.items()]
    if not claims:
        raise ExperimentError("The experiment contains no claimed results, so there is nothing to check.")
    stated = {id(part): _recompute(part, runs) for part in experiment.parts}
    differences = (_difference(part, name, claim, stated[id(part)]) for part, name, claim in claims)
    return Report(
        sum(int(np.size(claim.value)) for _, _, claim in claims),
        max(claim.tolerance for _, _, claim in claims),
        tuple(filter(None, differences)),
    )


def _recompute(part: ClaimedRun, runs: Any) -> dict[str, Stated]:
    try:
        return dict(part.run.states(runs.get(part.run)))
    except AtlasError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError) as error:
        # The file is untrusted, and may combine a run's arguments in a way that no page does.
        raise ExperimentError(
            f"{type(part.run).__name__} cannot run as the experiment describes it: {error}"
        ) from error


def _difference(part: ClaimedRun, name: str, claim: ClaimedValue, stated: dict[str, Stated]) -> str:
    """Return a sentence that says how a claim differs from the new result; empty if they agree."""
    if name not in stated:
        raise ExperimentError(
            f"{type(part.run).__name__} has no result “{name}”; its results are: {', '.join(stated) or 'none'}."
        )
    what, result = ", ".join(filter(None, (part.label, name))), stated[name]
    if isinstance(claim.value, str) or isinstance(result, str):
        return "" if claim.value == result else f"{what}: claimed “{claim.value}”, measured “{result}”."
    claimed, computed = np.array(claim.value, dtype=float), np.asarray(result, dtype=float)
    if claimed.shape != computed.shape:
        return f"{what}: claimed {_size(claimed)}, measured {_size(computed)}."
    differs = np.abs(computed - claimed) > claim.tolerance * np.maximum(1, np.abs(claimed))
    differs |= np.isnan(computed) != np.isnan(claimed)
    if not differs.any():
        return ""
    at = tuple(int(each) for each in np.argwhere(differs)[0])
    where = f", number {' / '.join(str(each + 1) for each in at)}" if at else ""
    count = int(differs.sum())
    return (
        f"{what}{where}: claimed {claimed[at]:.6g}, measured {computed[at]:.6g}"
        + (f"; in all, {count} of {differs.size} numbers differ" if count > 1 else "")
        + "."
    )


def _size(values: np.ndarray) -> str:
    return f"{' × '.join(map(str, values.shape)) or 1} numbers"


def _model(name: str, version: str) -> str:
    return f"{name} ({version})" if name else version
