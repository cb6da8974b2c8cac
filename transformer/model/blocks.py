"""Local attention: a text is cut into blocks, and each block is processed as if it were a separate text."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.kv_cache import KeysAndValues
from transformer.model.masks import causal_mask


@dataclass(frozen=True)
class Blocks:
    """Splits tensors into blocks of positions, and joins the blocks again (Liu et al. 2018, "Generating Wikipedia by
    Summarizing Long Sequences", section 4.2.3, "local attention").

    No scores are computed between different blocks, so a text of T positions needs T x `size` scores instead of T x T.

    Args:
        size: number of positions in a block.
        start: position of the first query, whose block may begin earlier.
        queries: number of queries.
    """

    size: int
    start: int
    queries: int

    @property
    def first(self) -> int:
        """The position at which the first block begins; no query sees an earlier position."""
        return self.start // self.size * self.size

    @property
    def count(self) -> int:
        """Number N of blocks that contain queries."""
        return -(-(self.start + self.queries - self.first) // self.size)

    @property
    def width(self) -> int:
        """Number W of positions per block: `size`, or fewer if there is only one block and it is not full yet."""
        return self.size if self.count > 1 else self.start + self.queries - self.first

    def mask(self, device: torch.device) -> Tensor | None:
        """Return the mask within a block, bool [W, W], or [T, W] if there is only one block; None allows everything."""
        if self.count == 1:
            return causal_mask(self.width, device=device)[self.width - self.queries :] if self.queries > 1 else None
        return causal_mask(self.width, device=device)

    def split_queries(self, query: Tensor) -> Tensor:
        """Split queries [B, H, T, K] into blocks [B N, H, W, K]; a single block is not padded."""
        return query if self.count == 1 else self._split(query, self.start - self.first)

    def split_keys_and_values(self, keys_and_values: KeysAndValues) -> KeysAndValues:
        """Split keys and values [B, 2H, S, K], without the positions before `first`, into blocks [B N, 2H, W, K]."""
        joined = keys_and_values.joined[:, :, self.first :]
        return KeysAndValues(joined if self.count == 1 else self._split(joined))

    def join(self, y: Tensor) -> Tensor:
        """Join the blocks' outputs [B N, W, D] and remove padding; return one output per query, [B, T, D]."""
        if self.count == 1:
            return y
        before = self.start - self.first
        return y.unflatten(0, (-1, self.count)).flatten(1, 2)[:, before : before + self.queries]

    def whole_map(self, weights: Tensor) -> Tensor:
        """Join the attention weights of a whole text's blocks, [B N, H, W, W], into a map [B, H, T, T] for display.

        A cell whose query and key are in different blocks is 0.
        """
        if self.count == 1:
            return weights
        blocks = weights.unflatten(0, (-1, self.count))  # [B N, H, W, W] -> [B, N, H, W, W]
        places = torch.arange(self.count)
        drawn = weights.new_zeros(len(blocks), weights.shape[1], self.count, self.width, self.count, self.width)
        drawn[:, :, places, :, places] = blocks.transpose(0, 1)  # torch puts indexed axes first: [N, B, H, W, W]
        return drawn.flatten(4, 5).flatten(2, 3)[..., : self.queries, : self.queries]

    def _split(self, x: Tensor, before: int = 0) -> Tensor:
        """Split x [B, H, T, K] into blocks [B N, H, W, K], padded with zeros.

        Only queries are padded in front, by `before` positions. Padding keys come after all real keys, so no real
        query sees one. `join` removes the outputs at padding positions.
        """
        after = self.count * self.width - before - x.shape[2]
        blocks = F.pad(x, (0, 0, before, after)).unflatten(2, (self.count, self.width))  # -> [B, H, N, W, K]
        return blocks.transpose(1, 2).flatten(0, 1)
