"""Positional encodings: what tells a Transformer which piece comes first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.errors import TextError
from transformer.model.sinusoids import sinusoids


def sinusoidal_positions(length: int, d_model: int, *, halves: bool = False) -> Tensor:
    """`transformer.model.sinusoids.sinusoids` as the model adds it, float32 [length, D]."""
    return torch.from_numpy(sinusoids(length, d_model, halves=halves)).float()


class PositionalEncoding(nn.Module):
    """Adds to each embedding the encoding of its position.

    Raises:
        TextError: a position is asked for that the model has not learned.
    """

    table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.kind = config.positions
        self.max_positions = config.max_positions
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind != "none":
            # Computed, so it is not part of a checkpoint.
            self.register_buffer("table", self._sinusoids(config.max_positions, config.d_model), persistent=False)

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """Add the positions start, start + 1, ... to x [B, T, D]."""
        if self.kind == "none":
            return x
        end = start + x.shape[1]
        table = self.table
        if end > table.shape[0]:
            if self.kind == "learned":
                raise TextError(
                    f"this model has learned {self.max_positions} positions and was asked for {end}: "
                    "shorten the text"
                )
            table = self._sinusoids(end, x.shape[-1]).to(x)
        return x + table.narrow(0, start, end - start)

    def _sinusoids(self, length: int, d_model: int) -> Tensor:
        return sinusoidal_positions(length, d_model, halves=self.kind == "sinusoidal_halves")
