"""Keys and values that later queries look at, kept from one decoding step to the next."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Positions that a cache makes room for at once. Tensors of few sizes are found among the freed ones; one that is
# larger at every step would be fetched from the operating system each time.
BLOCK = 16


class KeysAndValues:
    """Keys and values [B, H, S, K] that later queries look at; a step's cache is made of these."""

    __slots__ = ("_room", "keys", "values")

    def __init__(self, keys: Tensor, values: Tensor, room: Room | None = None) -> None:
        self.keys = keys
        self.values = values
        self._room = room

    def followed_by(self, other: KeysAndValues) -> KeysAndValues:
        """These positions, then those of `other`; for runs without gradients, as they may be written in place."""
        length, more = self.keys.shape[2], other.keys.shape[2]
        room = self._room
        # Other positions may stand behind these already: a cache can be continued in several ways.
        if room is None or room.filled != length or room.size < length + more:
            room = Room(self.keys, len(self.keys), length + more)
            room.append(self)
        return room.append(other)

    def select(self, rows: Tensor) -> KeysAndValues:
        """Those of the sentences `rows` [B'], in that order; one may be taken twice. For runs without gradients."""
        # Not `keys[rows]`, which takes five times as long.
        if self._room is None:
            return KeysAndValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))
        length = self.keys.shape[2]
        room = Room(self.keys, len(rows), length + 1)
        torch.index_select(self.keys, 0, rows, out=room.keys[:, :, :length])
        torch.index_select(self.values, 0, rows, out=room.values[:, :, :length])
        room.filled = length
        return KeysAndValues(room.keys[:, :, :length], room.values[:, :, :length], room)

    def contiguous(self) -> KeysAndValues:
        """The same, each head's positions side by side in memory: worth a copy for what is looked at many times."""
        return KeysAndValues(self.keys.contiguous(), self.values.contiguous())


class Room:
    """Tensors longer than what they hold, so that what follows is written behind it and nothing copied every step.

    Attributes:
        keys, values: [B, H, size, K], of which the first `filled` positions hold something.
        size: positions that there is room for.
        filled: positions in use.
    """

    __slots__ = ("filled", "keys", "size", "values")

    def __init__(self, like: Tensor, sentences: int, least: int) -> None:
        """Empty, for at least so many keys and values such as `like` [., H, ., K]."""
        self.size = math.ceil(least / BLOCK) * BLOCK
        shape = (sentences, like.shape[1], self.size, like.shape[3])
        self.keys, self.values = like.new_empty(shape), like.new_empty(shape)
        self.filled = 0

    def append(self, more: KeysAndValues) -> KeysAndValues:
        """Everything up to these positions, which are written behind the others."""
        start, end = self.filled, self.filled + more.keys.shape[2]
        self.keys[:, :, start:end] = more.keys
        self.values[:, :, start:end] = more.values
        self.filled = end
        return KeysAndValues(self.keys[:, :, :end], self.values[:, :, :end], self)
