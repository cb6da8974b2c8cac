"""One step of decoding, the same record whichever way the next piece is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model import DecoderCache, Recorder, Transformer


@dataclass(frozen=True)
class Rows:
    """The attention rows of one step, of every layer and head.

    Attributes:
        decoder: over the pieces read so far, this one included, [N, L, H, P].
        cross: over the source, [N, L, H, S].
    """

    decoder: Tensor
    cross: Tensor


@dataclass(frozen=True)
class Distribution:
    """What the model says about the next piece.

    Attributes:
        log_probs: over the whole vocabulary, nats, float32 [N, V].
        rows: what was looked at on the way; None unless it was asked for.
    """

    log_probs: Tensor
    rows: Rows | None

    @property
    def entropy(self) -> Tensor:
        """Nats, [N]."""
        return entropy(self.log_probs)


class Candidates(NamedTuple):
    """The likeliest pieces, best first.

    Attributes:
        ids: [..., C].
        log_probs: nats, [..., C].
    """

    ids: Tensor
    log_probs: Tensor

    @property
    def probs(self) -> Tensor:
        """[..., C]; their sum is how much of the distribution the candidates cover."""
        return self.log_probs.exp()


@dataclass(frozen=True, eq=False)
class Step:
    """One piece read by each of N hypotheses, and the M pieces that were taken to continue them.

    Greedy decoding and sampling follow one hypothesis a sentence and take one piece for each: M = N = B. Beam
    search is the other case, see `BeamStep`.

    Attributes:
        read: ids of the pieces read, [N].
        distribution: what the model says comes next; no setting changes it.
        logits: what was chosen from, [N, V], up to a constant a row: the log-probabilities after constraints,
            temperature and truncation; minus infinity where a piece could not be chosen.
        predicted: ids of the pieces taken, [M]; padding behind the end of a sentence.
        log_prob: what the model gives the pieces taken, whatever made them be taken, nats [M]; 0 behind the end.
        score: sum of `log_prob` from the first step to this one, nats, float64 [M], on the CPU: in float32 the sum
            over a long sentence would lose the fifth decimal, and not every device has float64.
        seconds: wall-clock time of the step.
    """

    read: Tensor
    distribution: Distribution
    logits: Tensor
    predicted: Tensor
    log_prob: Tensor
    score: Tensor
    seconds: float

    @property
    def choices(self) -> Tensor:
        """Log-probabilities of the distribution that was chosen from, nats [N, V]."""
        return self.logits.log_softmax(dim=-1)

    @property
    def rank(self) -> Tensor:
        """Places of the pieces taken among all that the model could say, [M]; 1 is the likeliest."""
        log_probs = self.distribution.log_probs
        return rank(log_probs, self.log_prob.to(log_probs.device))

    def candidates(self, count: int) -> Candidates:
        """The likeliest pieces [N, count], according to the model."""
        return best(self.distribution.log_probs, count)


def predict(
    model: Transformer, read: Tensor, cache: DecoderCache, *, capture: bool
) -> tuple[Distribution, DecoderCache]:
    """Read one more piece of each hypothesis and say what may come next.

    Args:
        model: in evaluation mode.
        read: piece ids [N].
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


def best(log_probs: Tensor, count: int) -> Candidates:
    """The likeliest pieces [..., count], best first; all of them if there are fewer."""
    values, ids = log_probs.topk(min(count, log_probs.shape[-1]), dim=-1)
    return Candidates(ids, values)


def rank(log_probs: Tensor, log_prob: Tensor) -> Tensor:
    """Places [...] in distributions [..., V] of pieces with `log_prob` [...]: 1 for the likeliest and its equals."""
    return (log_probs > log_prob[..., None]).sum(dim=-1) + 1
