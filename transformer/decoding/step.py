"""The result of one decoding step, in the same form for every decoding method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.kv_cache import DecoderCache
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class AttentionRows:
    """The attention weights of one step, in every layer and head.

    Attributes:
        decoder: weights for the tokens read so far, including this one, [N, L, H, P].
        cross: weights for the source, [N, L, H, S]; S is 0 for a model without a source.
    """

    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True)
class Distribution:
    """The model's prediction of the next token.

    Attributes:
        log_probs: log-probabilities of the whole vocabulary, nats, float32 [N, V].
        rows: attention weights of the step; None unless they were requested.
    """

    log_probs: Tensor
    rows: AttentionRows | None


class Candidates(NamedTuple):
    """The most likely tokens, best first.

    Attributes:
        ids: token ids, [..., C].
        log_probs: log-probabilities, nats, [..., C].
    """

    ids: Tensor
    log_probs: Tensor


@dataclass(frozen=True, eq=False)
class Step:
    """One decoding step: N hypotheses read one token each, and M tokens are taken to continue them.

    Greedy decoding and sampling have one hypothesis per sentence and take one token for each: M = N = B. Beam search
    differs; see `BeamStep`.

    Attributes:
        read: ids of the tokens read, [N].
        distribution: the model's prediction, before constraints, temperature and truncation.
        predicted: ids of the tokens taken, [M]; padding after the end of a sentence.
        log_prob: the model's log-probability of the tokens taken, nats [M]; 0 after the end.
        score: sum of `log_prob` from the first step to this one, nats, float64 [M], on the CPU. In float32, the sum
            over a long sentence would lose the fifth decimal, and some devices lack float64.
    """

    read: Tensor
    distribution: Distribution
    predicted: Tensor
    log_prob: Tensor
    score: Tensor


def predict(
    model: Transformer, read: Tensor, cache: DecoderCache, *, capture: bool
) -> tuple[Tensor, Distribution, DecoderCache]:
    """Read one more token of each hypothesis and predict the next one.

    Args:
        model: in evaluation mode.
        read: token ids [N].
        cache: cache of the tokens read before; it is not changed.
        capture: whether to return the attention weights of every layer and head.

    Returns:
        The logits, float32 [N, V], the distribution, and a cache that also contains the token read.
    """
    record = Recorder(details=False) if capture else None
    logits, cache = logits_of_next(model, read, cache, record)
    log_probs = logits.log_softmax(dim=-1)
    rows = None
    if record is not None:
        # L x [N, H, 1, P] -> [N, L, H, P], and the same for the source.
        decoder = torch.stack(record.tensors["decoder.weights"], dim=1)[..., 0, :]
        cross = record.tensors["cross.weights"]
        rows = AttentionRows(decoder, torch.stack(cross, dim=1)[..., 0, :] if cross else decoder[..., :0])
    return logits, Distribution(log_probs, rows), cache


def logits_of_next(
    model: Transformer, read: Tensor, cache: DecoderCache, record: Recorder | None = None
) -> tuple[Tensor, DecoderCache]:
    """As `predict`, but return only logits, float32 [N, V], and the cache: cheaper, and enough to compare tokens."""
    hidden, cache = model.decode_step(read.unsqueeze(1), cache, record=record)
    return model.generator(hidden.squeeze(1)).float(), cache


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy of distributions [..., V] given as log-probabilities, in nats [...]; 0 if one token is certain."""
    # In place, because clearing the memory of a third array of this size takes as long as the product.
    return -log_probs.clamp_min(torch.finfo(log_probs.dtype).min).mul_(log_probs.exp()).sum(dim=-1)


def top_candidates(log_probs: Tensor, count: int) -> Candidates:
    """The most likely tokens [..., count], best first; all of them if there are fewer."""
    values, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1)
    return Candidates(ids, values)


def token_rank(log_probs: Tensor, log_prob: Tensor) -> Tensor:
    """Ranks [...] of tokens with `log_prob` [...] in distributions [..., V]; 1 is the most likely, ties are equal."""
    return (log_probs > log_prob[..., None]).sum(dim=-1) + 1
