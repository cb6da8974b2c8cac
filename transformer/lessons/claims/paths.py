"""Claims about the graph of a predicted token: what it adds up to, and whether cutting a path confirms it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transformer.ablation.estimate import rank_correlation
from transformer.attribution.attribution import Target
from transformer.attribution.graph import Path, pruned, runner_up
from transformer.errors import LessonError
from transformer.lessons.claims.ablation import KIND_NAMES
from transformer.lessons.claims.decoding import piece_name
from transformer.lessons.claims.registry import Finding, claim
from transformer.lessons.evidence import Evidence
from transformer.running.runs.graph import GraphRun, PathEffectsRun
from transformer.running.runs.trace import TraceRun

# The number of paths that are cut.
CUT = 8
# A measured effect that is off by more than this share of the predicted one surprises.
SURPRISE = 0.5


@dataclass(frozen=True, eq=False)
class CutPaths:
    """The largest direct paths to a token against the runner-up; float64, logits.

    Attributes:
        token, other: the token and the runner-up.
        names: of the senders that the prediction reads directly, the largest effect first, N of them.
        predicted, measured: effects of cutting their paths, [N].
        paths, biases: sums of all edges into the prediction, and of its biases.
    """

    token: str
    other: str
    names: tuple[str, ...]
    predicted: np.ndarray
    measured: np.ndarray
    paths: float
    biases: float


@claim("token", "other", "paths", "biases", "difference")
def graph_adds_up(evidence: Evidence, step: int) -> Finding:
    """The paths into a token's logit difference and its biases add up to that difference of the model."""
    found = cut_paths(evidence, step)
    trace, row = evidence.trace(), evidence.step(step)
    log_probs = dict(zip(trace.candidate_ids[row].tolist(), trace.candidate_log_probs[row].tolist(), strict=True))
    model = float(trace.log_probs[row]) - log_probs[runner_up(trace, row)]
    difference = found.paths + found.biases
    return Finding(
        abs(difference - model) < 1e-3,
        {
            "token": found.token,
            "other": found.other,
            "paths": found.paths,
            "biases": found.biases,
            "difference": difference,
        },
    )


@claim("name", "predicted", "measured", "token", "other")
def cut_confirms(evidence: Evidence, step: int) -> Finding:
    """Cutting the direct path of the head with the largest effect changes the prediction in the predicted direction."""
    found = cut_paths(evidence, step)
    at = next((at for at, name in enumerate(found.names) if name.split(",")[0] in KIND_NAMES.values()), None)
    if at is None:
        raise LessonError(f"no head is among the {len(found.names)} largest paths of step {step}")
    predicted, measured = float(found.predicted[at]), float(found.measured[at])
    return Finding(
        predicted * measured > 0,
        {
            "name": found.names[at],
            "predicted": predicted,
            "measured": measured,
            "token": found.token,
            "other": found.other,
        },
    )


@claim("name", "predicted", "measured", "count")
def cut_surprises(evidence: Evidence, step: int) -> Finding:
    """Cutting some large direct path has an effect that is off by more than half of the predicted one."""
    found = cut_paths(evidence, step)
    off = abs(found.measured - found.predicted)
    at = int(off.argmax())
    return Finding(
        bool((off > SURPRISE * abs(found.predicted)).any()),
        {
            "name": found.names[at],
            "predicted": float(found.predicted[at]),
            "measured": float(found.measured[at]),
            "count": len(found.names),
        },
    )


@claim("against", "alone", "token", "other")
def difference_is_better_predicted(evidence: Evidence, step: int) -> Finding:
    """Effects on a token against the runner-up are better predicted than effects on its logit alone."""
    token, other, against, alone = path_ranks(evidence, step)
    return Finding(against > alone, {"against": against, "alone": alone, "token": token, "other": other})


def path_ranks(evidence: Evidence, step: int) -> tuple[str, str, float, float]:
    """The token that a step writes and the runner-up, and how well the effects of the drawn paths are ranked.

    Returns:
        Both names, then the rank correlations of predicted and measured effects on the token against the runner-up, and
        on its logit alone.
    """
    target, token, other = _against(evidence, step)
    found = []
    for each in (target, Target(target.positions)):
        graph = evidence.runs.get(GraphRun(_run(evidence), each))
        edges = list(pruned(graph).edges)
        measured = evidence.runs.get(PathEffectsRun(_run(evidence), each, graph.paths(edges)))
        found.append(rank_correlation(graph.edges[edges], measured))
    return token, other, *found


def cut_paths(evidence: Evidence, step: int) -> CutPaths:
    """The largest direct paths to the token that a step writes against the runner-up.

    Raises:
        LessonError: the translation has no such step.
    """
    target, token, other = _against(evidence, step)
    run = _run(evidence)
    graph = evidence.runs.get(GraphRun(run, target))
    into = np.flatnonzero(graph.receivers == len(graph.nodes) - 1)
    into = into[np.argsort(-abs(graph.edges[into]), kind="stable")][:CUT]
    paths = graph.paths(into)
    return CutPaths(
        token,
        other,
        tuple(map(_name, paths)),
        graph.edges[into],
        evidence.runs.get(PathEffectsRun(run, target, paths)),
        float(graph.inflow[-1]),
        float(graph.biases[-1]),
    )


def _against(evidence: Evidence, step: int) -> tuple[Target, str, str]:
    """The token that a step writes against the runner-up, and the names of both."""
    row, trace = evidence.step(step), evidence.trace()
    other = runner_up(trace, row)
    (named,) = evidence.runs.tokenizer.pieces([other])
    return Target((row,), (other,)), piece_name(trace.predicted_pieces[row]), piece_name(named)


def _run(evidence: Evidence) -> TraceRun:
    return TraceRun(evidence.sentence, details=True)


def _name(path: Path) -> str:
    """The name of a path's sender; layers and heads count from 1."""
    sender = path[0]
    if sender.place is None:
        return "the token that is read"
    if sender.place.kind is None:
        return f"feed-forward, layer {sender.place.layer + 1}"
    return f"{KIND_NAMES[sender.place.kind]}, layer {sender.place.layer + 1}, head {(sender.head or 0) + 1}"
