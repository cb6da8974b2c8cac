"""Claims about a token's attribution graph: the sum of all paths, and the effects of cutting paths."""

from dataclasses import dataclass

import numpy as np

from transformer.ablation.estimate import rank_correlation
from transformer.attribution.attribution import Target
from transformer.attribution.graph import Path, prune, runner_up
from transformer.errors import LessonError
from transformer.lessons.claims.ablation import KIND_NAMES
from transformer.lessons.claims.decoding import token_name
from transformer.lessons.claims.registry import Finding, claim, finding
from transformer.lessons.evidence import Evidence
from transformer.running.runs.graph import GraphRun, PathEffectsRun
from transformer.running.runs.trace import TraceRun

# Only this many paths are cut: the largest ones.
CUT_COUNT = 8
# A measured effect is a surprise if it differs from the predicted effect by more than this fraction of the prediction.
MIN_SURPRISE = 0.5


@dataclass(frozen=True, eq=False)
class CutPaths:
    """The largest direct paths to a predicted token, with the predicted and measured effects of cutting each path.

    Effects are changes in the token's lead: the token's logit minus the runner-up's, float64.

    Attributes:
        token, other: names of the token and of the runner-up.
        names: names of the N components where the paths start, largest predicted effect first.
        predicted, measured: predicted and measured effects of cutting each path, [N].
        paths: sum of all edges into the prediction.
        biases: sum of the prediction's biases.
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
    """A token's lead over the runner-up, in logits, is the sum of all paths to the token plus the biases."""
    cut = cut_paths(evidence, step)
    trace, row = evidence.trace(), evidence.step(step)
    log_probs = dict(zip(trace.candidate_ids[row].tolist(), trace.candidate_log_probs[row].tolist(), strict=True))
    model = float(trace.log_probs[row]) - log_probs[runner_up(trace, row)]
    difference = cut.paths + cut.biases
    return finding(
        abs(difference - model) < 1e-3,
        token=cut.token,
        other=cut.other,
        paths=cut.paths,
        biases=cut.biases,
        difference=difference,
    )


@claim("name", "predicted", "measured", "token", "other")
def cut_confirms(evidence: Evidence, step: int) -> Finding:
    """Cutting the largest direct path from a head changes the lead over the runner-up in the predicted direction."""
    cut = cut_paths(evidence, step)
    at = next((index for index, name in enumerate(cut.names) if name.split(",")[0] in KIND_NAMES.values()), None)
    if at is None:
        raise LessonError(
            f"none of the {len(cut.names)} largest paths of step {step} starts at a head: change the step"
        )
    predicted, measured = float(cut.predicted[at]), float(cut.measured[at])
    return finding(
        predicted * measured > 0,
        name=cut.names[at],
        predicted=predicted,
        measured=measured,
        token=cut.token,
        other=cut.other,
    )


@claim("name", "predicted", "measured", "count")
def cut_surprises(evidence: Evidence, step: int) -> Finding:
    """For some large direct path, the effect of a cut differs from its prediction by over half of the prediction."""
    cut = cut_paths(evidence, step)
    off = abs(cut.measured - cut.predicted)
    at = int(off.argmax())
    return finding(
        bool((off > MIN_SURPRISE * abs(cut.predicted)).any()),
        name=cut.names[at],
        predicted=float(cut.predicted[at]),
        measured=float(cut.measured[at]),
        count=len(cut.names),
    )


@claim("against", "alone", "token", "other")
def difference_is_better_predicted(evidence: Evidence, step: int) -> Finding:
    """A graph predicts the effect of a cut on a token's lead over the runner-up better than that on its logit alone."""
    token, other, against, alone = path_ranks(evidence, step)
    return finding(against > alone, against=against, alone=alone, token=token, other=other)


def path_ranks(evidence: Evidence, step: int) -> tuple[str, str, float, float]:
    """Measure how well an attribution graph ranks the paths to a step's token by the effect of cutting each path.

    Returns:
        The names of the token and of the runner-up (the most likely other token), and two rank correlations between
        predicted and measured effects: for the token's lead over the runner-up, and for the token's logit alone.
    """
    target, token, other = _against(evidence, step)
    correlations = []
    for each in (target, Target(target.positions)):
        graph = evidence.runs.get(GraphRun(_run(evidence), each))
        edges = list(prune(graph).edges)
        measured = evidence.runs.get(PathEffectsRun(_run(evidence), each, graph.paths(edges)))
        correlations.append(rank_correlation(graph.edges[edges], measured))
    return token, other, *correlations


def cut_paths(evidence: Evidence, step: int) -> CutPaths:
    """Cut the largest direct paths to a step's token, and measure how the token's lead over the runner-up changes.

    Raises:
        LessonError: the translation has no such step.
    """
    target, token, other = _against(evidence, step)
    run = _run(evidence)
    graph = evidence.runs.get(GraphRun(run, target))
    into = np.flatnonzero(graph.receivers == len(graph.nodes) - 1)
    into = into[np.argsort(-abs(graph.edges[into]), kind="stable")][:CUT_COUNT]
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
    """Return the target that compares a step's token with the runner-up, and the names of the two tokens."""
    row, trace = evidence.step(step), evidence.trace()
    other = runner_up(trace, row)
    (named,) = evidence.runs.tokenizer.tokens([other])
    return Target((row,), (other,)), token_name(trace.predicted_tokens[row]), token_name(named)


def _run(evidence: Evidence) -> TraceRun:
    return TraceRun(evidence.sentence, details=True)


def _name(path: Path) -> str:
    """Return the name of the component where a path starts, with 1-based layer and head numbers."""
    sender = path[0]
    if sender.place is None:
        return "input token"
    if sender.place.kind is None:
        return f"feed-forward, layer {sender.place.layer + 1}"
    return f"{KIND_NAMES[sender.place.kind]}, layer {sender.place.layer + 1}, head {(sender.head or 0) + 1}"
