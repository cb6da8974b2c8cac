"""Items as the batches of a training: drawn by a seed, and never those that are held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from transformer.tasks.task import FIRST_ID, Item, Pieces, Task
from transformer.text.vocabulary import OWN
from transformer.training.batching import Batch


class Items:
    """The items of one run.

    Args:
        task: whose items.
        seed: fixes which are held out, and what every step sees.

    Attributes:
        held_out: what no step sees.
        trained: all others, where the task lists its items; None where they are too many, so that none comes again.
    """

    def __init__(self, task: Task, seed: int) -> None:
        self.task = task
        self.seed = seed
        self.ids = {piece: FIRST_ID + index for index, piece in enumerate(task.symbols)}
        rng = np.random.default_rng([seed, 0])
        # A dict, because it keeps the order in which they are drawn.
        drawn: dict[Pieces, None] = {}
        while len(drawn) < task.held_out:
            drawn[task.draw(rng)] = None
        self.held_out = tuple(map(task.item, drawn))
        self._never_trained = frozenset(drawn)
        sources = task.sources()
        self.trained = None if sources is None else tuple(
            task.item(source) for source in sources if source not in self._never_trained
        )

    def training(self, step: int, count: int) -> list[Item]:
        """What the step of that number, from 0, learns from; the same however often it is asked for.

        It is all of `trained` once where a step asks for as many (a full batch), and drawn at random otherwise.
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
        """Items as ids, all padded to the longest that the task has: kernels are prepared for one shape."""
        source = np.full((len(items), self.task.longest_source + 1), OWN.pad)
        predicted = np.full((len(items), self.task.longest_target + 1), OWN.pad)
        for row, item in enumerate(items):
            source[row, : len(item.source) + 1] = self.encode(item.source)
            predicted[row, : len(item.target) + 1] = self.encode(item.target)
        target = np.concatenate([np.full((len(items), 1), OWN.start), predicted[:, :-1]], axis=1)
        return Batch(torch.from_numpy(source), torch.from_numpy(target), torch.from_numpy(predicted))

    def encode(self, pieces: Pieces) -> list[int]:
        """Ids, the end symbol last."""
        return [*(self.ids[piece] for piece in pieces), OWN.end]

    def decode(self, ids: Sequence[int]) -> Pieces:
        """The tokens of what a model wrote, up to the end symbol; "?" is a symbol that no item has."""
        ids = list(ids)
        written = ids[: ids.index(OWN.end)] if OWN.end in ids else ids
        return tuple(self.task.symbols[each - FIRST_ID] if each >= FIRST_ID else "?" for each in written)
