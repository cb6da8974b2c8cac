"""Positional encodings: what tells a Transformer which piece comes first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig


def sinusoidal_positions(length: int, d_model: int, *, halves: bool = False) -> Tensor:
    """Sines and cosines whose wavelengths grow from 2 pi towards 10000 * 2 pi.

    Dimension pair i of position p is sin and cos of p * 10000^(-2i / D) ("Attention Is All You Need",
    section 3.5).

    Args:
        length: number of positions, from 0.
        d_model: even width D.
        halves: all sines, then all cosines, instead of sin, cos, sin, cos.

    Returns:
        float32 [length, D].
    """
    # In float64: at position 500, float32 angles would be off in the fifth decimal.
    frequencies = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies
    pair = torch.cat if halves else lambda both, dim: torch.stack(both, dim).flatten(-2)
    return pair([angles.sin(), angles.cos()], -1).float()


class PositionalEncoding(nn.Module):
    """Adds to each embedding the encoding of its position.

    Raises:
        ValueError: learned positions are asked for a position that they do not have.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.kind = config.positions
        self.max_positions = config.max_positions
        if self.kind == "learned":
            self.table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        elif self.kind != "none":
            # Computed, so it has no place in a checkpoint.
            table = self._sinusoids(config.max_positions, config.d_model)
            self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """Add the positions start, start + 1, ... to x [B, T, D]."""
        if self.kind == "none":
            return x
        end = start + x.shape[1]
        table = self.table
        if end > len(table):
            if self.kind == "learned":
                raise ValueError(
                    f"this model has learned {self.max_positions} positions and was asked for {end}: "
                    "shorten the text"
                )
            table = self._sinusoids(end, x.shape[-1]).to(x)
        return x + table[start:end]

    def _sinusoids(self, length: int, d_model: int) -> Tensor:
        return sinusoidal_positions(length, d_model, halves=self.kind == "sinusoidal_halves")
