"""One step of decoding, the same record whichever way the next piece is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.model import DecoderCache, Recorder, Transformer


@dataclass(frozen=True)
class Rows:
    """The attention rows of one step, of every layer and head.

    Attributes:
        decoder: over the pieces read so far, this one included, [B, L, H, P].
        cross: over the source, [B, L, H, S].
    """

    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True)
class Distribution:
    """What the model says about the next piece.

    Attributes:
        log_probs: over the whole vocabulary, nats, float32 [B, V].
        rows: what was looked at on the way; None unless it was asked for.
    """

    log_probs: Tensor
    rows: Rows | None

    @property
    def entropy(self) -> Tensor:
        """Nats, [B]."""
        return entropy(self.log_probs)


@dataclass(frozen=True)
class Step:
    """One piece read and one predicted, for each of B sentences.

    Attributes:
        read: ids of the pieces read, [B].
        predicted: ids of the pieces taken, [B]; padding behind the end of a sentence.
        log_prob: of the pieces taken, nats [B]; 0 behind the end.
        distribution: what they were chosen from.
    """

    read: Tensor
    predicted: Tensor
    log_prob: Tensor
    distribution: Distribution

    def candidates(self, count: int) -> tuple[Tensor, Tensor]:
        """The likeliest pieces, best first: ids [B, count] and log-probabilities [B, count]."""
        return best(self.distribution.log_probs, count)


def predict(
    model: Transformer, read: Tensor, cache: DecoderCache, *, capture: bool
) -> tuple[Distribution, DecoderCache]:
    """Read one more piece of each sentence and say what may come next.

    Args:
        model: in evaluation mode.
        read: piece ids [B].
        cache: of what was read before; it stays as it is.
        capture: keep the attention rows of every layer and head.

    Returns:
        The distribution, and the cache with the piece read.
    """
    record = Recorder(details=False) if capture else None
    hidden, cache = model.decode_more(read[:, None], cache, record=record)
    log_probs = model.generator(hidden[:, 0]).float().log_softmax(dim=-1)
    rows = None
    if record is not None:
        decoder, cross = (
            torch.stack(record.tensors[f"{kind}.weights"], dim=1)[..., 0, :] for kind in ("decoder", "cross")
        )
        rows = Rows(decoder, cross)
    return Distribution(log_probs, rows), cache


def entropy(log_probs: Tensor) -> Tensor:
    """Of distributions [..., V] given as log-probabilities, in nats [...]; a certain one has 0."""
    return -(log_probs.exp() * log_probs.clamp_min(torch.finfo(log_probs.dtype).min)).sum(dim=-1)


def best(log_probs: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Ids and log-probabilities [..., count] of the likeliest pieces, best first; all of them if there are fewer."""
    values, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1)
    return ids, values
