"""Positional encodings: what tells a Transformer which token comes first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.errors import TextError
from transformer.model.encodings import ENCODINGS


class PositionalEncoding(nn.Module):
    """Adds to each embedding the encoding of its position (`transformer.model.encodings`).

    Raises:
        TextError: a position is asked for that the model has not learned.
    """

    table: Tensor | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.encoding = ENCODINGS[config.positions]
        self.d_model = config.d_model
        if self.encoding.learned:
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        else:
            self.compute(config.max_positions)

    def compute(self, length: int, dtype: torch.dtype = torch.float32) -> None:
        """Make the table of a kind that is computed, for positions up to `length`; it is not part of a checkpoint."""
        table = self.encoding.table(length, self.d_model)
        self.register_buffer("table", None if table is None else torch.from_numpy(table).to(dtype), persistent=False)

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """Add the positions start, start + 1, ... to x [B, T, D]."""
        table, end = self.table, start + x.shape[1]
        if table is None:
            return x
        if end > len(table):
            computed = self.encoding.table(end, self.d_model)
            if computed is None:
                raise TextError(
                    f"this model has learned {len(table)} positions and was asked for {end}: shorten the text"
                )
            table = torch.from_numpy(computed).to(x)
        return x + table.narrow(0, start, end - start)  # [B, T, D] + [T, D]
