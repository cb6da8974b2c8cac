"""All attribution methods by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from transformer.attribution.alti import alti
from transformer.attribution.attribution import Attribution, Method, Target, piece_groups
from transformer.attribution.erasure import erasure
from transformer.attribution.frozen_gradient import frozen_gradient
from transformer.attribution.integrated_gradients import integrated_gradients
from transformer.attribution.norms import norms
from transformer.attribution.rollout import rollout
from transformer.attribution.weights import weights as attention_weights
from transformer.model.transformer import Transformer
from transformer.values.interventions import AS_TRAINED
from transformer.values.trace import Trace
from transformer.values.weights import Weights


def attribute(
    model: Transformer, weights: Weights, trace: Trace, method: Method, targets: Sequence[Target], *, words: bool,
    on_step: Callable[[], object] = lambda: None,
) -> Attribution:
    """What mattered for some targets; see `transformer.Translator.attribute`."""
    positions = range(len(trace.predicted_pieces))
    for target in targets:
        outside = [position for position in target.positions if position not in positions]
        if outside:
            raise ValueError(f"the translation has {len(positions)} pieces, counted from 0, and no piece {outside[0]}")
    groups = piece_groups(trace, words=words)
    if method == "erasure":
        _as_trained(trace)
        return erasure(model, trace, targets, *groups, on_step)
    if method in ("frozen_gradient", "integrated_gradients"):
        _as_trained(trace)
        compute = frozen_gradient if method == "frozen_gradient" else integrated_gradients
        return compute(model, trace, targets, on_step).merged(*groups)
    if method in ("weights", "rollout"):
        return (attention_weights if method == "weights" else rollout)(trace, targets).merged(*groups)
    if method in ("norms", "alti"):
        return (norms if method == "norms" else alti)(trace, weights, targets).merged(*groups)
    raise ValueError(f"unknown method {method!r}")


def _as_trained(trace: Trace) -> None:
    if trace.interventions != AS_TRAINED:
        raise ValueError("this method explains the model as it was trained: make the trace without interventions")
