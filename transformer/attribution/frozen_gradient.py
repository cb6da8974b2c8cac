"""Frozen gradient attribution: splits a logit exactly into terms, each of which is an input times its gradient.

With constant attention weights, layer norm scales and activation factors, a Transformer is linear in its embeddings,
positional encodings and biases. The logit is then the sum of all inputs, each times its gradient (Ali et al. 2022,
"XAI for Transformers: Better Explanations through Conservative Propagation"; Modarressi et al. 2023, "DecompX:
Explaining Transformers Decisions by Propagating Token Decomposition").
"""

from collections.abc import Sequence

import numpy as np
import torch

from transformer.attribution.attribution import Attribution, Target, TracedRun, attribution_of_tokens
from transformer.attribution.frozen import FrozenFunctions
from transformer.attribution.objective import BATCH_TOKENS, embed, objective, pad_to_prefix
from transformer.model.transformer import Transformer
from transformer.values.cancellation import check_cancelled
from transformer.values.trace import Trace

REMAINDERS: tuple[str, ...] = ("source positions", "target positions", "biases")


def frozen_gradient(run: TracedRun, targets: Sequence[Target]) -> Attribution:
    """Split each target's logit into terms: one per token, one per side's positional encodings, one for the biases."""
    trace = run.trace
    per_batch = max(1, BATCH_TOKENS // (len(trace.source_tokens) + len(trace.target_tokens)))
    batches = []
    for start in range(0, len(targets), per_batch):
        batches.append(_logit_terms(run.model, trace, targets[start : start + per_batch]))
        check_cancelled()
    source, prefix, *remainders, total = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    remainders_by_name = dict(zip(REMAINDERS, remainders, strict=True))
    return attribution_of_tokens("frozen_gradient", trace, targets, source, prefix, total, remainders_by_name)


def _logit_terms(model: Transformer, trace: Trace, targets: Sequence[Target]) -> tuple[np.ndarray, ...]:
    """Split each target's logit exactly into terms.

    Returns:
        Terms of the source tokens, [B, S], and of the prefix tokens, [B, T]. Then four arrays [B]: terms of the
        source's positional encodings, of the target's positional encodings and of the biases, and the logit.
    """
    batch, device = len(targets), model.device
    with torch.enable_grad():
        # To combine many inputs into one term, multiply them by a common factor of 1. The term is the gradient with
        # respect to this factor (Euler's theorem).
        source_factor, prefix_factor, bias = (
            torch.ones(batch, 1, 1, device=device, requires_grad=True) for _ in range(3)
        )
        x, y = (side.repeat(batch, 1, 1).requires_grad_() for side in embed(model, trace, targets))
        source_positions, target_positions = (
            positions(torch.zeros_like(side[:1])).detach()
            for positions, side in ((model.source_positions, x), (model.target_positions, y))
        )
        with FrozenFunctions(bias):
            # The model already adds the positional encodings. Adding (factor - 1) times the encodings changes no value,
            # but makes the logit depend on the factor.
            memory = model.encode(x + (source_factor - 1) * source_positions, None)
            hidden = model.decode(y + (prefix_factor - 1) * target_positions, memory)
        logits = objective(model, hidden, trace, targets, log_probs=False, bias=bias)
        leaves = (x, y, source_factor, prefix_factor, bias)
        gradients = torch.autograd.grad(logits.sum(), leaves, materialize_grads=True)
    # Sum on the CPU, because not every device supports float64.
    terms = [
        (leaf * gradient).detach().cpu().double().sum(dim=-1) for leaf, gradient in zip(leaves, gradients, strict=True)
    ]
    terms[1] = pad_to_prefix(terms[1], trace)
    source_terms, prefix_terms, *remainders = (term.numpy() for term in terms)
    return source_terms, prefix_terms, *(term[:, 0] for term in remainders), logits.detach().cpu().double().numpy()
