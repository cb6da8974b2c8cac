"""Samples a task's training and held-out items from a seed; no held-out item occurs in a training batch."""

from collections.abc import Sequence

import numpy as np
import torch

from transformer.tasks.task import FIRST_ID, Item, Task, Tokens
from transformer.text.vocabulary import OWN_SYMBOLS
from transformer.training.batching import Batch


class Items:
    """Training items and held-out items for one training run.

    Args:
        task: task that generates the items.
        seed: random seed for the held-out items and for every step's training items.

    Attributes:
        held_out: items that are never used for training.
        trained: all other items, if the task can list its items; None if there are too many.
    """

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.seed = seed
        self.ids = {token: FIRST_ID + index for index, token in enumerate(task.symbols)}
        rng = np.random.default_rng([seed, 0])
        # A dict removes duplicates and preserves the order of sampling.
        drawn: dict[Tokens, None] = {}
        while len(drawn) < task.held_out:
            drawn[task.draw(rng)] = None
        self.held_out = tuple(map(task.item, drawn))
        self._never_trained = frozenset(drawn)
        sources = task.sources()
        self.trained = (
            None
            if sources is None
            else tuple(task.item(source) for source in sources if source not in self._never_trained)
        )

    def training(self, step: int, count: int) -> list[Item]:
        """Return the training items for a 0-based step; calls for the same step return the same items.

        If `trained` has at most `count` items, return all of them (a full batch); otherwise, return a random sample of
        `count` items.
        """
        rng = np.random.default_rng([self.seed, 1, step])
        if self.trained is not None:
            if count >= len(self.trained):
                return list(self.trained)
            return [self.trained[index] for index in rng.integers(len(self.trained), size=count).tolist()]
        items: list[Item] = []
        while len(items) < count:
            source = self.task.draw(rng)
            if source not in self._never_trained:
                items.append(self.task.item(source))
        return items

    def batch(self, items: Sequence[Item]) -> Batch:
        """Encode items as a batch, padded to the task's maximum lengths so that all batches have the same width."""
        source = np.full((len(items), self.task.longest_source + 1), OWN_SYMBOLS.pad)
        predicted = np.full((len(items), self.task.longest_target + 1), OWN_SYMBOLS.pad)
        for row, item in enumerate(items):
            source[row, : len(item.source) + 1] = self.encode(item.source)
            predicted[row, : len(item.target) + 1] = self.encode(item.target)
        target = np.concatenate([np.full((len(items), 1), OWN_SYMBOLS.start), predicted[:, :-1]], axis=1)
        return Batch(torch.from_numpy(source), torch.from_numpy(target), torch.from_numpy(predicted))

    def encode(self, tokens: Tokens) -> list[int]:
        """Return the token ids, followed by the end symbol."""
        return [*(self.ids[token] for token in tokens), OWN_SYMBOLS.end]

    def decode(self, ids: Sequence[int]) -> Tokens:
        """Return the tokens before the first end symbol; "?" stands for a special symbol such as padding."""
        ids = list(ids)
        ids_before_end = ids[: ids.index(OWN_SYMBOLS.end)] if OWN_SYMBOLS.end in ids else ids
        return tuple(self.task.symbols[each - FIRST_ID] if each >= FIRST_ID else "?" for each in ids_before_end)
