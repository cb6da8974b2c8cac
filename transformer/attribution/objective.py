"""The quantity that a method explains: the logit or log-probability of a target, as a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from transformer.attribution.attribution import Target
from transformer.attribution.frozen import Frozen
from transformer.model.transformer import Transformer
from transformer.values.trace import Trace

# Number of source and target tokens in one batch. It limits a pass with gradients to a few hundred MB of memory.
BATCH_TOKENS = 1024


def tokens_of(trace: Trace, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the ids of the tokens that the encoder reads [S] and that the decoder reads [T]."""
    source, prefix = ([token.id for token in tokens] for tokens in (trace.source_tokens, trace.target_tokens))
    return torch.tensor(source, device=device), torch.tensor(prefix, device=device)


def embed(model: Transformer, trace: Trace, targets: Sequence[Target]) -> tuple[Tensor, Tensor]:
    """Return the scaled embeddings of the source [S, D], and of the part of the prefix that the targets need [T',
    D]."""
    source, prefix = tokens_of(trace, model.device)
    return (
        model.token_vectors(source, model.source_embedding).detach(),
        model.token_vectors(prefix[: read_for(targets)], model.target_embedding).detach(),
    )


def over_all_read(scores: Tensor, trace: Trace) -> Tensor:
    """Extend scores over the part of the prefix that `embed` returned, [..., T'], with zeros to [..., T]."""
    return torch.nn.functional.pad(scores, (0, len(trace.target_tokens) - scores.shape[-1]))


def read_for(targets: Sequence[Target]) -> int:
    """Return the number of tokens that the decoder must read to predict all targets."""
    return max(max(target.positions) for target in targets) + 1


def objective(
    model: Transformer,
    hidden: Tensor,
    trace: Trace,
    targets: Sequence[Target],
    *,
    log_probs: bool,
    bias: Tensor | None = None,
) -> Tensor:
    """Return the logit or log-probability of each row's target, summed over the target's positions, [B].

    Args:
        model: in evaluation mode.
        hidden: the decoder's output, [B, T, D].
        trace: the run with the predicted tokens.
        targets: one target for each row, or one for all rows.
        log_probs: return log-probabilities in nats instead of logits. Differences between candidates are the same in
            both.
        bias: factor on the generator's bias in a frozen run, [B, 1, 1].
    """
    if len(targets) == 1:
        targets = list(targets) * len(hidden)
    rows, positions, taken, others = [], [], [], []
    for row, target in enumerate(targets):
        rows += [row] * len(target.positions)
        positions += target.positions
        taken += [trace.predicted_tokens[position].id for position in target.positions]
        # A target without a contrast is compared with id -1, whose score counts as 0.
        others += target.against or [-1] * len(target.positions)
    index = torch.tensor(rows, device=hidden.device)
    read = hidden[index, torch.tensor(positions, device=hidden.device)]  # [B, T, D] -> [N, D]
    with nullcontext() if bias is None else Frozen(bias[index, 0]):
        scores = model.generator(read)  # [N, D] -> [N, V]
    if log_probs:
        scores = scores.log_softmax(dim=-1)
    score = _picked(scores, taken) - _picked(scores, others)
    return score.new_zeros(len(hidden)).index_add(0, index, score)


def _picked(scores: Tensor, ids: Sequence[int]) -> Tensor:
    """Pick the score of one id from each row of scores [N, V]: [N]; 0 for the id -1."""
    wanted = torch.tensor(ids, device=scores.device)
    return scores.gather(1, wanted.clamp(min=0)[:, None])[:, 0] * (wanted >= 0)
