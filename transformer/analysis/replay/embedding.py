"""Replays the input of a stack: scaled token embeddings plus positions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from transformer.model.encodings import added_positions
from transformer.values.trace import SIDES, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class EmbeddedText:
    """The vectors of N tokens at the input of a stack, float64.

    Attributes:
        ids: ids of the tokens, [N].
        tokens: rows of the embedding matrix, [N, D].
        scale: sqrt(D), or 1 if the model does not scale embeddings.
        scaled: `tokens` times `scale`, [N, D].
        positions: the position vectors that are added, [N, D]; None if the model adds none or the run left them out.
        total: residual stream before the first layer, from the trace, [N, D]. It is after the norm if the model
            normalises the sum.
    """

    ids: np.ndarray
    tokens: np.ndarray
    scale: float
    scaled: np.ndarray
    positions: np.ndarray | None
    total: np.ndarray

    @property
    def summed(self) -> np.ndarray:
        """Scaled embeddings plus positions, [N, D]: equal to `total` unless the model normalises the sum."""
        return self.scaled if self.positions is None else self.scaled + self.positions


def embedded_text(trace: Trace, weights: Weights, stack: Stack) -> EmbeddedText:
    """Return the embedded text of one stack, "encoder" or "decoder", from a trace with details."""
    config, side = weights.config, SIDES[stack]
    ids = np.array([token.id for token in (trace.source_tokens if stack == "encoder" else trace.target_tokens)])
    tokens = weights.arrays[f"{side}_embedding.weight"][ids].astype(np.float64)
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    positions = added_positions(config, weights.arrays, side, len(ids))
    return EmbeddedText(
        ids=ids,
        tokens=tokens,
        scale=scale,
        scaled=scale * tokens,
        positions=positions if trace.interventions.positions else None,
        total=trace.residual_stream(stack)[0].astype(np.float64),
    )
