"""Local attention: a text is cut into blocks, and each block is attended to as if it were a text of its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.kv_cache import KeysAndValues
from transformer.model.masks import causal_mask


@dataclass(frozen=True)
class Blocks:
    """Where the blocks of a text lie (Liu et al. 2018, "Generating Wikipedia by Summarizing Long Sequences", section
    4.2.3, "local attention").

    Nothing is computed for two positions of different blocks: a text of T positions takes T times `size` cells, not T
    times T.

    Args:
        size: positions of a block.
        start: position of the first query. The block of that query may begin earlier.
        rows: number of queries.
    """

    size: int
    start: int
    rows: int

    @property
    def first(self) -> int:
        """The position at which the first block begins; no query looks at an earlier one."""
        return self.start // self.size * self.size

    @property
    def count(self) -> int:
        """Number of blocks N that the queries lie in."""
        return -(-(self.start + self.rows - self.first) // self.size)

    @property
    def width(self) -> int:
        """Positions W of each block: `size`; for a single block the number of positions that exist."""
        return self.size if self.count > 1 else self.start + self.rows - self.first

    def allowed(self, device: torch.device) -> Tensor | None:
        """The mask within a block, bool [queries, W]; None allows everything."""
        if self.count == 1:
            return causal_mask(self.width, device=device)[self.width - self.rows :] if self.rows > 1 else None
        return causal_mask(self.width, device=device)

    def split_queries(self, query: Tensor) -> Tensor:
        """Queries [B, H, T, K] as [B N, H, W, K]; a single block has only the existing rows."""
        return query if self.count == 1 else self._split(query, self.start - self.first)

    def split_memory(self, read: KeysAndValues) -> KeysAndValues:
        """Keys and values of all positions so far, [B, 2H, S, K], as [B N, 2H, W, K]."""
        read_here = read.joined[:, :, self.first :]
        return KeysAndValues(read_here if self.count == 1 else self._split(read_here))

    def join(self, y: Tensor) -> Tensor:
        """The results for the queries, [B N, W, D], as [B, T, D]."""
        if self.count == 1:
            return y
        before = self.start - self.first
        return y.unflatten(0, (-1, self.count)).flatten(1, 2)[:, before : before + self.rows]

    def whole_map(self, weights: Tensor) -> Tensor:
        """The weights of all blocks [B N, H, W, W] of a text that is read at once, as a map [B, H, T, T].

        Cells that lie in no block are 0. The map is only for display.
        """
        if self.count == 1:
            return weights
        blocks = weights.unflatten(0, (-1, self.count))  # [B N, H, W, W] -> [B, N, H, W, W]
        places = torch.arange(self.count)
        drawn = weights.new_zeros(len(blocks), weights.shape[1], self.count, self.width, self.count, self.width)
        drawn[:, :, places, :, places] = blocks.transpose(0, 1)  # the indexed axes come first: [N, B, H, W, W]
        return drawn.flatten(4, 5).flatten(2, 3)[..., : self.rows, : self.rows]

    def _split(self, x: Tensor, before: int = 0) -> Tensor:
        """[B, H, T, K] as [B N, H, W, K], padded with zeros.

        No position looks at the zeros, because they come after all keys.
        """
        after = self.count * self.width - before - x.shape[2]
        blocks = F.pad(x, (0, 0, before, after)).unflatten(2, (self.count, self.width))  # -> [B, H, N, W, K]
        return blocks.transpose(1, 2).flatten(0, 1)
