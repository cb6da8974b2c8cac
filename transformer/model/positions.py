"""Positional encodings: what tells a Transformer which token comes first."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.config import TransformerConfig
from transformer.errors import TextError
from transformer.model.encodings import ENCODINGS


@dataclass(frozen=True, eq=False)
class RelativePositions:
    """What positions do in self-attention.

    Attributes:
        slopes: what each head takes off a score for a position of distance, [H]; None for nothing.
    """

    slopes: Tensor | None

    def add_biases(self, scores: Tensor) -> Tensor:
        """The scores [B, H, T, S] with their biases; the T queries are at the last of the S positions."""
        if self.slopes is None:
            return scores
        queries, keys = scores.shape[-2:]
        positions = torch.arange(keys, device=scores.device)
        distance = (positions[keys - queries :, None] - positions).abs()  # [T, S]
        return scores - self.slopes[:, None, None] * distance  # [B, H, T, S] - [H, T, S]


class PositionalEncoding(nn.Module):
    """What a model does with positions (`transformer.model.encodings`): adds them to the embeddings, or has them act in
    self-attention.

    Raises:
        TextError: a position is asked for that the model has not learned.
    """

    table: Tensor | None
    slopes: Tensor | None

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.encoding = ENCODINGS[config.positions]
        self.config = config
        if self.encoding.learned:
            self.table, self.slopes = nn.Parameter(torch.empty(config.max_positions, config.d_model)), None
        else:
            self.compute(config.max_positions)

    def compute(self, length: int, dtype: torch.dtype = torch.float32) -> None:
        """Make the numbers of a kind that is computed, of `length` positions; they are not part of a checkpoint."""
        numbers = {
            "table": self.encoding.table(length, self.config.d_model),
            "slopes": self.encoding.slopes(self.config.heads),
        }
        for name, array in numbers.items():
            self.register_buffer(name, None if array is None else torch.from_numpy(array).to(dtype), persistent=False)

    def relative(self) -> RelativePositions | None:
        """What positions do in self-attention; None for nothing."""
        return None if self.slopes is None else RelativePositions(self.slopes)

    def forward(self, x: Tensor, *, start: int = 0) -> Tensor:
        """Add the positions start, start + 1, ... to x [B, T, D]."""
        table, end = self.table, start + x.shape[1]
        if table is None:
            return x
        if end > len(table):
            computed = self.encoding.table(end, self.config.d_model)
            if computed is None:
                raise TextError(
                    f"this model has learned {len(table)} positions and was asked for {end}: shorten the text"
                )
            table = torch.from_numpy(computed).to(x)
        return x + table.narrow(0, start, end - start)  # [B, T, D] + [T, D]
