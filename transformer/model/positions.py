"""Applies positional encodings, which tell a Transformer the order of its tokens."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.errors import TextError
from transformer.model.encodings import ENCODINGS


@dataclass(frozen=True, eq=False)
class RelativePositions:
    """Effect of the positions on self-attention: biases on the scores, or rotation of queries and keys.

    Attributes:
        slopes: each head's slope [H], the decrease in a score per position of distance; None for no biases.
        cosines, sines: cosines and sines of the rotation angles for queries and keys at T positions, [T, K / 2]; None
            for no rotation.
    """

    slopes: Tensor | None = None
    cosines: Tensor | None = None
    sines: Tensor | None = None

    def rotate(self, x: Tensor) -> Tensor:
        """Rotate queries or keys [B, H, T, K] by the angles of their positions."""
        if self.cosines is None or self.sines is None:
            return x
        even, odd = x[..., 0::2], x[..., 1::2]  # [B, H, T, K] -> 2 x [B, H, T, K / 2]
        rotated = even * self.cosines - odd * self.sines, even * self.sines + odd * self.cosines
        return torch.stack(rotated, dim=-1).flatten(-2).to(x.dtype)  # -> [B, H, T, K / 2, 2] -> [B, H, T, K]

    def add_biases(self, scores: Tensor) -> Tensor:
        """Add the biases to the scores [B, H, T, S]; the T queries are the last T of the S positions."""
        if self.slopes is None:
            return scores
        queries, keys = scores.shape[-2:]
        positions = torch.arange(keys, device=scores.device)
        distance = (positions[keys - queries :, None] - positions).abs()  # [T, S]
        return scores - self.slopes[:, None, None] * distance  # [B, H, T, S] - [H, T, S]


class PositionalEncoding(nn.Module):
    """Applies a positional encoding (`transformer.model.encodings`) to the embeddings or in self-attention.

    Raises:
        TextError: a text is longer than the table of learned positions.
    """

    table: Tensor | None
    slopes: Tensor | None
    cosines: Tensor | None
    sines: Tensor | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.encoding = ENCODINGS[config.positions]
        self.compute(config.max_positions)
        if self.encoding.learned:
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))

    def compute(self, length: int, dtype: torch.dtype = torch.float32) -> None:
        """Compute all tables that are not learned, for `length` positions; checkpoints do not store these tables."""
        for name, array in self._numbers(length).items():
            self.register_buffer(name, None if array is None else torch.from_numpy(array).to(dtype), persistent=False)

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """Add the vectors of the positions start, start + 1, ... to x [B, T, D]."""
        return x if self.table is None else x + self._rows("table", start, x.shape[1])  # [B, T, D] + [T, D]

    def relative(self, length: int, *, start: int = 0) -> RelativePositions | None:
        """Return slopes or rotations for self-attention at `length` positions from `start` on.

        Return None if the encoding uses neither.
        """
        if self.cosines is not None:
            return RelativePositions(None, *(self._rows(name, start, length) for name in ("cosines", "sines")))
        return None if self.slopes is None else RelativePositions(self.slopes)

    def _numbers(self, length: int) -> dict[str, np.ndarray | None]:
        """Return all computed tables by name; None for a table that this encoding does not use."""
        angles = self.encoding.angles(length, self.config.d_head)
        return {
            "table": self.encoding.table(length, self.config.d_model),
            "slopes": self.encoding.slopes(self.config.heads),
            "cosines": None if angles is None else np.cos(angles),
            "sines": None if angles is None else np.sin(angles),
        }

    def _rows(self, name: str, start: int, length: int) -> Tensor:
        """Return rows of the table `name`, beginning with `start`; a computed table is extended if it is too short."""
        table, end = getattr(self, name), start + length
        if end > len(table):
            if self.encoding.learned:
                raise TextError(
                    f"this model has only {len(table)} learned positions, but {end} are needed: shorten the text"
                )
            table = torch.from_numpy(self._numbers(end)[name]).to(table)
        return table.narrow(0, start, length)
