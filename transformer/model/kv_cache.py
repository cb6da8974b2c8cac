"""Keys and values cached from one decoding step to the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.model.edits import Edits

# A buffer's size is rounded up to a multiple of this many positions, so that tensors have few different sizes. Only
# then can the allocator reuse freed tensors. A tensor that grew by one position per step would need new memory from the
# operating system at every step.
BLOCK = 16


class KeysAndValues:
    """Keys and values of one attention layer.

    Attributes:
        joined: the keys of all heads, then the values of all heads, [B, 2H, S, K]. They share one tensor, because one
            operation on keys and values together is faster than two.
    """

    __slots__ = ("_buffer", "_parts", "joined")

    def __init__(self, joined: Tensor, buffer: Buffer | None = None) -> None:
        self.joined = joined
        self._parts: tuple[Tensor, ...] | None = None
        self._buffer = buffer

    @classmethod
    def of(cls, keys: Tensor, values: Tensor) -> KeysAndValues:
        """Join keys and values, each [B, H, S, K]."""
        return cls(torch.cat([keys, values], dim=1))

    @property
    def length(self) -> int:
        """Number of positions S."""
        return self.joined.shape[2]

    @property
    def keys(self) -> Tensor:
        """The keys [B, H, S, K]."""
        return self.split()[0]

    @property
    def values(self) -> Tensor:
        """The values [B, H, S, K]."""
        return self.split()[1]

    def split(self) -> tuple[Tensor, ...]:
        """Return the keys and the values, each [B, H, S, K]."""
        # Create the views only once, because every decoding step reads the source's keys and values.
        if self._parts is None:
            self._parts = self.joined.chunk(2, dim=1)  # [B, 2H, S, K] -> 2 x [B, H, S, K]
        return self._parts

    def append(self, other: KeysAndValues) -> KeysAndValues:
        """Return these keys and values followed by those of `other`.

        Do not use the method in a run that needs gradients, because it may write in place.
        """
        length, more = self.joined.size(2), other.joined.size(2)
        buffer = self._buffer
        # Several hypotheses can continue the same cache. Only the first one to do so may write into the shared
        # buffer.
        if buffer is None or buffer.filled != length or buffer.size < length + more:
            buffer = Buffer(self.joined, len(self.joined), length + more)
            buffer.append(self.joined)
        return buffer.append(other.joined)

    def select(self, indices: Tensor) -> KeysAndValues:
        """Return the keys and values of the texts with these indices [B'] in the batch, in that order.

        Indices may repeat. Do not use the method in a run that needs gradients, because it may write into a buffer.
        """
        # Use `index_select`, because indexing with `joined[indices]` takes five times as long.
        if self._buffer is None:
            return KeysAndValues(self.joined.index_select(0, indices))
        length = self.length
        buffer = Buffer(self.joined, len(indices), length + 1)
        joined = buffer.joined.narrow(2, 0, length)
        torch.index_select(self.joined, 0, indices, out=joined)
        buffer.filled = length
        return KeysAndValues(joined, buffer)

    def contiguous(self) -> KeysAndValues:
        """Return a copy with each head's positions adjacent in memory. The copy saves time if many queries follow."""
        return KeysAndValues(self.joined.contiguous())


class Buffer:
    """A tensor with space for further positions, so that appending a position does not copy earlier ones.

    Attributes:
        joined: keys and values [B, 2H, size, K]; the first `filled` positions are in use.
        size: number of positions that fit into the buffer.
        filled: number of positions in use.
    """

    __slots__ = ("filled", "joined", "size")

    def __init__(self, like: Tensor, batch_size: int, positions: int) -> None:
        """Create an empty buffer for at least `positions` positions; heads, K and dtype are those of `like`."""
        self.size = math.ceil(positions / BLOCK) * BLOCK
        self.joined = like.new_empty((batch_size, like.shape[1], self.size, like.shape[3]))
        self.filled = 0

    def append(self, more: Tensor) -> KeysAndValues:
        """Append keys and values [B, 2H, T, K] for T new positions, and return all keys and values."""
        start, count = self.filled, more.size(2)
        self.filled = end = start + count
        # Use `narrow`, because indexing with `[:, :, start:end]` takes longer than the copy.
        self.joined.narrow(2, start, count).copy_(more)
        return KeysAndValues(self.joined.narrow(2, 0, end), self)


class LayerCache:
    """Keys and values of one decoder layer; every decoding step extends those of self-attention.

    Attributes:
        past: self-attention's keys and values of the P positions so far, [B, H, P, K]; None before the first step.
            `extend` updates this attribute.
        memory: cross-attention's keys and values, [B, H, S, K]; None without an encoder.
    """

    __slots__ = ("memory", "past")

    def __init__(self, past: KeysAndValues | None = None, memory: KeysAndValues | None = None) -> None:
        self.past, self.memory = past, memory

    def extend(self, new: KeysAndValues) -> KeysAndValues:
        """Append the keys and values of T new positions; return all keys and values, [B, H, P + T, K]."""
        self.past = new if self.past is None else self.past.append(new)
        return self.past


@dataclass(frozen=True)
class DecoderCache:
    """State of decoding between two steps, for a batch of B texts.

    Attributes:
        memory_keys_and_values: each layer's cross-attention keys and values, computed from the encoder's output; empty
            without an encoder.
        source_mask: bool [B, S], False on padding; None without padding.
        edits: changes to the model's values for these texts, applied at every step.
        past: each layer's self-attention keys and values for the tokens read so far; empty before the first step.
        length: number of tokens read so far, P.
        unread: when decoding continues existing texts, ids [B] of their last tokens, which the first step reads. None
            if decoding starts with the start symbol.
    """

    memory_keys_and_values: tuple[KeysAndValues, ...]
    source_mask: Tensor | None
    edits: Edits
    past: tuple[KeysAndValues, ...] = ()
    length: int = 0
    unread: Tensor | None = None

    @property
    def batch_size(self) -> int:
        """Number of texts B."""
        return len(self._carried)

    @property
    def device(self) -> torch.device:
        return self._carried.device

    @property
    def _carried(self) -> Tensor:
        """One tensor of the cache, from which the cache's device and its batch size (first axis) are read."""
        return (self.memory_keys_and_values or self.past)[0].joined if self.unread is None else self.unread

    def of_layer(self, layer: int) -> LayerCache:
        """Return a new cache for one step of a layer; it contains all earlier keys and values."""
        past, memory = self.past, self.memory_keys_and_values
        return LayerCache(past[layer] if past else None, memory[layer] if memory else None)

    def extended(self, layers: Sequence[LayerCache], count: int) -> DecoderCache:
        """Return the cache after a step that has added `count` positions to the layers' caches."""
        past = tuple(layer.past for layer in layers if layer.past is not None)
        return DecoderCache(self.memory_keys_and_values, self.source_mask, self.edits, past, self.length + count)

    def first_read(self, start: int) -> Tensor:
        """Return the tokens [B] that the first step reads; `start` is the id of the start symbol."""
        if self.unread is not None:
            return self.unread
        return torch.full((self.batch_size,), start, device=self.device)

    def select(self, indices: Tensor) -> DecoderCache:
        """Return a cache for the texts with these indices [B'] in the batch, in that order; repeats are allowed."""
        memory = tuple(part.select(indices) for part in self.memory_keys_and_values)
        mask = None if self.source_mask is None else self.source_mask[indices]
        return replace(
            self.select_past(indices), memory_keys_and_values=memory, source_mask=mask, edits=self.edits.select(indices)
        )

    def select_past(self, indices: Tensor) -> DecoderCache:
        """Return a copy of the cache in which text i of `past` is the old text `indices[i]`; `indices` is [B].

        A text must have the same source as the text that it replaces.
        """
        return replace(self, past=tuple(part.select(indices) for part in self.past))
