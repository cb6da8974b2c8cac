"""Computes a single decoding step, and defines the types of its results, for all decoding methods."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.kv_cache import DecoderCache
from transformer.model.recorder import Recorder
from transformer.model.transformer import Transformer


@dataclass(frozen=True)
class StepAttention:
    """Attention weights of one decoding step, for N hypotheses, L layers and H heads.

    Attributes:
        decoder: weights on the P tokens read so far, including the current one, [N, L, H, P].
        cross: weights on the S source tokens, [N, L, H, S]; S is 0 for a model without a source.
    """

    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True)
class Distribution:
    """The model's predicted distribution over the next token.

    Attributes:
        log_probs: log-probabilities over the vocabulary, nats, float32 [N, V].
        attention: attention weights of the step; None unless requested.
    """

    log_probs: Tensor
    attention: StepAttention | None


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
    """One decoding step: N hypotheses read one token each, and M tokens are chosen to extend the hypotheses.

    In greedy decoding and sampling, each of the B sentences has one hypothesis: M = N = B. For beam search, see
    `BeamStep`.

    Attributes:
        read: ids of the tokens read, [N].
        distribution: the model's predicted distribution, before constraints, temperature and truncation.
        predicted: ids of the chosen tokens, [M]; padding after the end of a sentence.
        log_prob: the model's log-probability of each chosen token, nats [M]; 0 after the end of a sentence.
        score: cumulative sum of `log_prob` up to the current step, nats, float64 [M]. In float32, a long sentence's sum
            would be wrong in the fifth decimal place. The sum is on the CPU because some devices lack float64.
    """

    read: Tensor
    distribution: Distribution
    predicted: Tensor
    log_prob: Tensor
    score: Tensor


def predict(
    model: Transformer, read: Tensor, cache: DecoderCache, *, capture: bool
) -> tuple[Tensor, Distribution, DecoderCache]:
    """Run the decoder on one more token of each hypothesis, and predict the next token.

    Args:
        model: model in evaluation mode.
        read: ids of the tokens to read [N].
        cache: cache of the earlier tokens; it is left unchanged.
        capture: whether to return attention weights in the distribution.

    Returns:
        The logits, float32 [N, V]; the distribution; and a cache that includes the tokens read.
    """
    record = Recorder(details=False) if capture else None
    logits, cache = logits_of_next(model, read, cache, record)
    log_probs = logits.log_softmax(dim=-1)
    attention = None
    if record is not None:
        # L x [N, H, 1, P] -> [N, L, H, P], and likewise for the source.
        decoder = torch.stack(record.tensors["decoder.weights"], dim=1)[..., 0, :]
        cross = record.tensors["cross.weights"]
        attention = StepAttention(decoder, torch.stack(cross, dim=1)[..., 0, :] if cross else decoder[..., :0])
    return logits, Distribution(log_probs, attention), cache


def logits_of_next(
    model: Transformer, read: Tensor, cache: DecoderCache, record: Recorder | None = None
) -> tuple[Tensor, DecoderCache]:
    """Like `predict`, but cheaper: return only the logits, float32 [N, V], and the new cache."""
    output, cache = model.decode_step(read.unsqueeze(1), cache, record=record)  # [N] -> [N, 1] -> [N, 1, D]
    return model.logits(output, cache).squeeze(1).float(), cache  # [N, 1, D] -> [N, 1, V] -> [N, V]


def entropy(log_probs: Tensor) -> Tensor:
    """Return each distribution's entropy in nats, as a tensor [...], from log-probabilities [..., V]."""
    # Multiply in place, because allocating a third array of this size takes as long as the multiplication.
    return -log_probs.clamp_min(torch.finfo(log_probs.dtype).min).mul_(log_probs.exp()).sum(dim=-1)


def top_candidates(log_probs: Tensor, count: int) -> Candidates:
    """Return the `count` most likely tokens, best first, [..., count]; all tokens if there are fewer."""
    values, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1)
    return Candidates(ids, values)


def token_rank(log_probs: Tensor, log_prob: Tensor) -> Tensor:
    """Return the rank of each log-probability [...] in its distribution [..., V]; ties share a rank, and 1 is best."""
    return (log_probs > log_prob[..., None]).sum(dim=-1) + 1
