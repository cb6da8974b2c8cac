"""Looks up attribution methods by name, and runs them."""

from collections.abc import Sequence
from importlib import import_module

from transformer.attribution.attribution import METHODS, Attribution, Method, Target, TracedRun, token_groups
from transformer.model.transformer import Transformer
from transformer.values.interventions import AS_TRAINED
from transformer.values.trace import HOOKED, Trace
from transformer.values.weights import Weights


def attribute(
    model: Transformer, weights: Weights, trace: Trace, method: Method, targets: Sequence[Target], *, words: bool
) -> Attribution:
    """Explain predictions with the named method. For arguments and errors, see `transformer.Translator.attribute`."""
    if method not in METHODS:
        raise ValueError(f"there is no method {method!r}: choose one of {', '.join(METHODS)}")
    positions = range(len(trace.predicted_tokens))
    for target in targets:
        outside = [position for position in target.positions if position not in positions]
        if outside:
            raise ValueError(
                f"there is no token {outside[0]}: the translation has {len(positions)} tokens, numbered from 0"
            )
    if METHODS[method].as_trained and trace.interventions != AS_TRAINED:
        raise ValueError(f"{method} explains the model only as it was trained: make the trace without interventions")
    if trace.model.endswith(HOOKED):
        raise ValueError("attribution cannot repeat a run with hooks: make the trace without hooks")
    groups = token_groups(trace, words=words)
    compute = getattr(import_module(f"transformer.attribution.{method}"), method)
    attribution: Attribution = compute(TracedRun(trace, model, weights, *groups), targets)
    return (
        attribution if (attribution.source_groups, attribution.prefix_groups) == groups else attribution.merged(*groups)
    )
