"""The quantity that an attribution method explains: a target's logit or log-probability, as a tensor."""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
from torch import Tensor

from transformer.attribution.attribution import Target
from transformer.attribution.frozen import FrozenFunctions
from transformer.model.transformer import Transformer
from transformer.values.trace import Trace

# Maximum number of source and target tokens in one batch. A pass with gradients then needs only a few hundred MB.
BATCH_TOKENS = 1024


def token_ids(trace: Trace, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the ids of the tokens that the encoder reads, [S], and of those that the decoder reads, [T]."""
    source, prefix = ([token.id for token in tokens] for tokens in (trace.source_tokens, trace.target_tokens))
    return torch.tensor(source, device=device), torch.tensor(prefix, device=device)


def embed(model: Transformer, trace: Trace, targets: Sequence[Target]) -> tuple[Tensor, Tensor]:
    """Return the scaled embeddings of the source, [S, D], and of the prefix up to the last target, [T', D]."""
    source, prefix = token_ids(trace, model.device)
    return (
        model.token_vectors(source, model.source_embedding).detach(),
        model.token_vectors(prefix[: tokens_to_read(targets)], model.target_embedding).detach(),
    )


def pad_to_prefix(scores: Tensor, trace: Trace) -> Tensor:
    """Pad scores that end at the last target, [..., T'], with zeros to the length of the prefix, [..., T]."""
    return torch.nn.functional.pad(scores, (0, len(trace.target_tokens) - scores.shape[-1]))


def tokens_to_read(targets: Sequence[Target]) -> int:
    """Return how many tokens the decoder must read to predict all targets."""
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
        model: model in evaluation mode.
        hidden: decoder output, [B, T, D].
        trace: trace of the model run, which supplies the predicted tokens.
        targets: one target per row, or a single target for all rows.
        log_probs: whether to return log-probabilities in nats rather than logits. The difference between two
            tokens is the same in both.
        bias: factor on the output projection's bias, [B, 1, 1], if the model is linearised by `FrozenFunctions`;
            otherwise None.
    """
    if len(targets) == 1:
        targets = list(targets) * len(hidden)
    rows, positions, ids, others = [], [], [], []
    for row, target in enumerate(targets):
        rows += [row] * len(target.positions)
        positions += target.positions
        ids += [trace.predicted_tokens[position].id for position in target.positions]
        # Id -1 means that there is no alternative token to compare with; `_scores_of_ids` gives it the score 0.
        others += target.against or [-1] * len(target.positions)
    index = torch.tensor(rows, device=hidden.device)
    read = hidden[index, torch.tensor(positions, device=hidden.device)]  # [B, T, D] -> [N, D]
    with nullcontext() if bias is None else FrozenFunctions(bias[index, 0]):
        scores = model.generator(read)  # [N, D] -> [N, V]
    if log_probs:
        scores = scores.log_softmax(dim=-1)
    score = _scores_of_ids(scores, ids) - _scores_of_ids(scores, others)
    return score.new_zeros(len(hidden)).index_add(0, index, score)


def _scores_of_ids(scores: Tensor, ids: Sequence[int]) -> Tensor:
    """Return the score of one id from each row of `scores`, [N, V] -> [N]; id -1 has the score 0."""
    wanted = torch.tensor(ids, device=scores.device)
    return scores.gather(1, wanted.clamp(min=0)[:, None])[:, 0] * (wanted >= 0)
