"""Batches of sentence pairs, padded to a few fixed widths and shuffled for each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.text.tokenizer import PAD, START
from transformer.training.data import TokenData

# Padded lengths, in tokens. PyTorch needs time to prepare for every new matrix shape, so only a few lengths are used.
WIDTHS = (8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Batch:
    """A padded batch of sentence pairs, or a batch of contexts for a language model.

    Attributes:
        source: encoder input ids, [B, S]; None for a language model.
        target: decoder input ids, beginning with the start symbol, [B, T].
        predicted: token ids that the decoder should predict, ending with the end symbol, [B, T].
    """

    source: Tensor | None
    target: Tensor
    predicted: Tensor

    @property
    def tokens(self) -> int:
        """Number of target tokens to predict, without padding."""
        return int((self.predicted != PAD).sum())

    def to(self, device: torch.device | str) -> Batch:
        target, predicted = (ids.to(device, non_blocking=True) for ids in (self.target, self.predicted))
        return Batch(None if self.source is None else self.source.to(device, non_blocking=True), target, predicted)


class Batches:
    """Shuffled batches of sentence pairs with similar lengths; each pair occurs once per epoch.

    Args:
        data: sentence pairs.
        tokens: target tokens per batch, including padding; a batch of target width w has at most `tokens // w` rows,
            but at least one.
        seed: random seed; the shuffling depends only on the seed and the epoch number.
    """

    def __init__(self, data: TokenData, *, tokens: int, seed: int) -> None:
        if not len(data):
            raise ValueError("there are no sentence pairs to train on")
        longest = max(data.source.lengths.max(), data.target.lengths.max())
        if longest > WIDTHS[-1]:
            raise ValueError(
                f"the longest sentence has {longest} tokens: split or remove sentences of more than {WIDTHS[-1]} tokens"
            )
        self.data = data
        self.tokens = tokens
        self.seed = seed
        self.source_widths = widths(data.source.lengths)
        self.target_widths = widths(data.target.lengths)

    def epoch(self, number: int) -> list[np.ndarray]:
        """Return an epoch's batches as arrays of pair indices; the order depends only on the seed and `number`."""
        rng = np.random.default_rng([self.seed, number])
        batches = []
        for width in np.unique(self.target_widths):
            members = rng.permutation(np.flatnonzero(self.target_widths == width))
            # Sort by source width, so that most batches have little padding in both source and target.
            members = members[np.argsort(self.source_widths[members], kind="stable")]
            rows = max(1, self.tokens // int(width))
            batches += [members[start : start + rows] for start in range(0, len(members), rows)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def count(self, members: np.ndarray) -> int:
        """Return the number of target tokens, without padding, in the pairs with indices `members`."""
        return int(self.data.target.lengths[members].sum())

    def load(self, members: np.ndarray) -> Batch:
        """Return the pairs with indices `members` as one padded batch."""
        source = self.data.source.padded(members, self.source_widths[members].max())
        predicted = self.data.target.padded(members, self.target_widths[members].max())
        target = np.concatenate([np.full((len(members), 1), START), predicted[:, :-1]], axis=1)
        return Batch(torch.from_numpy(source), torch.from_numpy(target), torch.from_numpy(predicted))

    def __iter__(self) -> Iterator[Batch]:
        """Yield all pairs in batches, in the order of epoch 0."""
        return map(self.load, self.epoch(0))


def widths(lengths: np.ndarray) -> np.ndarray:
    """Return, for each sentence length, the smallest width in WIDTHS that fits."""
    return np.array(WIDTHS)[np.searchsorted(WIDTHS, lengths)]
