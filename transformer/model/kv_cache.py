"""Keys and values cached from one decoding step to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.model.edits import Edits

# Positions by which a buffer grows. The allocator reuses freed tensors of few different sizes; a tensor that grows at
# every step is fetched from the operating system each time.
BLOCK = 16


class KeysAndValues:
    """Keys and values [B, H, S, K] of one attention layer."""

    __slots__ = ("_buffer", "keys", "values")

    def __init__(self, keys: Tensor, values: Tensor, buffer: Buffer | None = None) -> None:
        self.keys = keys
        self.values = values
        self._buffer = buffer

    def append(self, other: KeysAndValues) -> KeysAndValues:
        """These positions, then those of `other`. Only for runs without gradients: it may write in place."""
        length, more = self.keys.shape[2], other.keys.shape[2]
        buffer = self._buffer
        # The same cache can be continued in several ways: only the first one may write into the shared buffer.
        if buffer is None or buffer.filled != length or buffer.size < length + more:
            buffer = Buffer(self.keys, len(self.keys), length + more)
            buffer.append(self)
        return buffer.append(other)

    def select(self, rows: Tensor) -> KeysAndValues:
        """Those of the sentences `rows` [B'], in that order; repeats are allowed. Only for runs without gradients."""
        # Not `keys[rows]`, which takes five times as long.
        if self._buffer is None:
            return KeysAndValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))
        length = self.keys.shape[2]
        buffer = Buffer(self.keys, len(rows), length + 1)
        torch.index_select(self.keys, 0, rows, out=buffer.keys[:, :, :length])
        torch.index_select(self.values, 0, rows, out=buffer.values[:, :, :length])
        buffer.filled = length
        return KeysAndValues(buffer.keys[:, :, :length], buffer.values[:, :, :length], buffer)

    def contiguous(self) -> KeysAndValues:
        """A copy with each head's positions side by side in memory, which pays where many queries read it."""
        return KeysAndValues(self.keys.contiguous(), self.values.contiguous())


class Buffer:
    """Tensors with space for further positions, so that appending a position copies nothing else.

    Attributes:
        keys, values: [B, H, size, K], of which the first `filled` positions are in use.
        size: number of positions there is space for.
        filled: number of positions in use.
    """

    __slots__ = ("filled", "keys", "size", "values")

    def __init__(self, like: Tensor, sentences: int, positions: int) -> None:
        """An empty buffer for at least `positions` keys and values of the shape of `like` [., H, ., K]."""
        self.size = math.ceil(positions / BLOCK) * BLOCK
        shape = (sentences, like.shape[1], self.size, like.shape[3])
        self.keys, self.values = like.new_empty(shape), like.new_empty(shape)
        self.filled = 0

    def append(self, more: KeysAndValues) -> KeysAndValues:
        """Write further positions after those in use; returns all of them."""
        start, count = self.filled, more.keys.shape[2]
        self.filled = end = start + count
        # Not `[:, :, start:end]`, which takes longer than the copy.
        self.keys.narrow(2, start, count).copy_(more.keys)
        self.values.narrow(2, start, count).copy_(more.values)
        return KeysAndValues(self.keys.narrow(2, 0, end), self.values.narrow(2, 0, end), self)


@dataclass(frozen=True)
class DecoderCache:
    """What decoding starts from and carries from step to step; one entry a layer.

    Attributes:
        source: cross-attention keys and values of the source, [B, H, S, K]; empty for a model without a source.
        source_mask: bool [B, S], False on padding; None when there is none.
        edits: what its rows do differently, at every step.
        past: self-attention keys and values of the pieces read so far, [B, H, P, K]; empty before the first.
        length: number of pieces read so far, P.
        unread: ids [B] of the pieces that decoding reads first, the last of a beginning; None for the start symbol.
    """

    source: tuple[KeysAndValues, ...]
    source_mask: Tensor | None
    edits: Edits
    past: tuple[KeysAndValues, ...] = ()
    length: int = 0
    unread: Tensor | None = None

    @property
    def sentences(self) -> int:
        """Number of rows B."""
        return len((self.source or self.past)[0].keys)

    @property
    def device(self) -> torch.device:
        return (self.source or self.past)[0].keys.device

    def first_read(self, start: int) -> Tensor:
        """The pieces [B] that decoding reads first; `start` is the id of the start symbol."""
        if self.unread is not None:
            return self.unread
        return torch.full((self.sentences,), start, device=self.device)

    def select(self, rows: Tensor) -> DecoderCache:
        """The cache of the sentences `rows` [B'] of this batch, in that order; repeats are allowed."""
        source = tuple(part.select(rows) for part in self.source)
        mask = None if self.source_mask is None else self.source_mask[rows]
        return replace(self.select_past(rows), source=source, source_mask=mask, edits=self.edits.select(rows))

    def select_past(self, rows: Tensor) -> DecoderCache:
        """As `select`, for rows [B] that each have the same source as the row they replace."""
        return replace(self, past=tuple(part.select(rows) for part in self.past))
