"""Integrated gradients (Sundararajan, Taly and Yan 2017, "Axiomatic Attribution for Deep Networks", section 3).

The embeddings are scaled up from 0 to their actual values, while the positional encodings stay fixed. Each embedding is
credited with a part of the change in log-probability. The parts add up to the whole change, except for the numerical
integration error.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_tokens
from transformer.attribution.objective import BATCH_TOKENS, embed, objective, pad_to_prefix
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled
from transformer.values.trace import Trace

# The number of integration steps starts at MIN_STEPS and doubles until the error is within TOLERANCE, up to MAX_STEPS.
MIN_STEPS, MAX_STEPS = 32, 256
# Acceptable integration error, relative to the change in log-probability, or to 1 nat if the change is smaller.
TOLERANCE = 0.05


def integrated_gradients(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Attribute each target's log-probability to the tokens, in nats.

    A target's scores sum to roughly the fall in its log-probability when all embeddings are set to zero.
    """
    results = [_scores(run.model, run.trace, target) for target in targets]
    source, prefix, total = (np.stack(parts) for parts in zip(*results, strict=True))
    return attribution_of_tokens("integrated_gradients", run.trace, targets, source, prefix, total)


def integrate(
    function: Callable[..., Tensor],
    inputs: Sequence[Tensor],
    *,
    steps: int,
    batch: int,
    coarser: Sequence[Tensor] | None = None,
) -> list[Tensor]:
    """Compute a function's integrated gradients from the baseline 0, by the trapezoidal rule.

    The path consists of the points alpha * x for alpha from 0 to 1. The gradients are computed at alpha = v^2 for
    equally spaced v. This puts more points near the baseline, where layer normalisation changes fastest.

    Args:
        function: maps tensors [B, ...], one per input, to [B].
        inputs: the inputs without the batch dimension B.
        steps: number of intervals.
        batch: number of points to compute at once.
        coarser: result for half as many steps, if known; then only the points in between are computed.

    Returns:
        For each input, a float64 tensor on the CPU with the input's shape.
    """
    v = torch.arange(1, steps + 1, 1 if coarser is None else 2) / steps
    # Since d(alpha) = 2v dv, the point v = 0 has weight 0. By the trapezoidal rule, v = 1 has half weight.
    shares = torch.where(v == 1, v, 2 * v) / steps
    # Sum on the CPU, because not every device supports float64.
    sums = [torch.zeros(x.shape, dtype=torch.float64) for x in inputs]
    for points, weights in zip(v.split(batch), shares.split(batch), strict=True):
        with torch.enable_grad():
            scaled = [
                (x * points.to(x).square().view(-1, *[1] * x.ndim)).requires_grad_() for x in inputs
            ]  # [N, D] -> [B, N, D]
            values = function(*scaled)
            gradients = torch.autograd.grad(values @ weights.to(values), scaled)
        for total, gradient in zip(sums, gradients, strict=True):
            total += gradient.sum(dim=0).cpu()
    terms = [x.cpu().double() * total for x, total in zip(inputs, sums, strict=True)]
    if coarser is None:
        return terms
    return [term + half / 2 for term, half in zip(terms, coarser, strict=True)]


def _scores(model: Transformer, trace: Trace, target: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source scores, [S], prefix scores, [T], and the value that all scores should add up to, []."""
    inputs = embed(model, trace, [target])

    def log_prob(x: Tensor, y: Tensor) -> Tensor:
        check_cancelled()
        hidden = model.decode(y, model.encode(x, None))
        return objective(model, hidden, trace, [target], log_probs=True)

    with torch.no_grad():
        ends = log_prob(*(torch.stack((torch.zeros_like(x), x)) for x in inputs))
    total = ends[1].item() - ends[0].item()
    batch, steps, terms = max(1, BATCH_TOKENS // sum(map(len, inputs))), MIN_STEPS, None
    while True:
        terms = integrate(log_prob, inputs, steps=steps, batch=batch, coarser=terms)
        error = abs(sum(term.sum().item() for term in terms) - total)
        if error <= TOLERANCE * max(abs(total), 1) or steps >= MAX_STEPS:
            break
        steps *= 2
    scores = [term.sum(dim=-1) for term in terms]
    return scores[0].numpy(), pad_to_prefix(scores[1], trace).numpy(), np.array(total)
