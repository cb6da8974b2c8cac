"""Groups sentence pairs into batches with few distinct shapes, in an order that depends only on seed and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.text.tokenizer import PAD, START
from transformer.training.data import TokenData

# Sentences are padded to one of these widths, in tokens, because every new matrix shape costs preparation time.
WIDTHS = (8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Batch:
    """A batch of sentence pairs, padded to one length per side, or of language-model contexts.

    Attributes:
        source: encoder input ids, [B, S]; None for a language model.
        target: decoder input ids, beginning with the start symbol, [B, T].
        predicted: ids that the decoder should predict, ending with the end symbol, [B, T].
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
    """Shuffled batches of a data set's pairs, grouped by length, with each pair once per epoch.

    Args:
        data: sentence pairs.
        tokens: target tokens per batch, including padding; a batch of width w has `tokens // w` rows.
        seed: random seed, which determines the order together with the epoch number.
    """

    def __init__(self, data: TokenData, *, tokens: int, seed: int) -> None:
        if not len(data):
            raise ValueError("there are no sentence pairs to train on")
        longest = max(data.source.lengths.max(), data.target.lengths.max())
        if longest > WIDTHS[-1]:
            raise ValueError(f"the longest sentence has {longest} tokens; the limit is {WIDTHS[-1]}")
        self.data = data
        self.tokens = tokens
        self.seed = seed
        self.source_widths = widths(data.source.lengths)
        self.target_widths = widths(data.target.lengths)

    def epoch(self, number: int) -> list[np.ndarray]:
        """Return the batches of an epoch, as arrays of pair indices; the same number gives the same batches."""
        rng = np.random.default_rng([self.seed, number])
        batches = []
        for width in np.unique(self.target_widths):
            members = rng.permutation(np.flatnonzero(self.target_widths == width))
            # Sort by source width, so that most batches have little padding on both sides.
            members = members[np.argsort(self.source_widths[members], kind="stable")]
            rows = max(1, self.tokens // int(width))
            batches += [members[start : start + rows] for start in range(0, len(members), rows)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def count(self, members: np.ndarray) -> int:
        """Return the number of target tokens to predict in the pairs `members`."""
        return int(self.data.target.lengths[members].sum())

    def load(self, members: np.ndarray) -> Batch:
        """Return the pairs `members` as one padded batch."""
        source = self.data.source.padded(members, self.source_widths[members].max())
        predicted = self.data.target.padded(members, self.target_widths[members].max())
        target = np.concatenate([np.full((len(members), 1), START), predicted[:, :-1]], axis=1)
        return Batch(torch.from_numpy(source), torch.from_numpy(target), torch.from_numpy(predicted))

    def __iter__(self) -> Iterator[Batch]:
        """Yield every pair once, in the order of epoch 0."""
        return map(self.load, self.epoch(0))


def widths(lengths: np.ndarray) -> np.ndarray:
    """Return the width to which a sentence of each length is padded."""
    return np.array(WIDTHS)[np.searchsorted(WIDTHS, lengths)]
