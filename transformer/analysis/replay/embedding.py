"""Replays the input of an encoder or decoder: scaled token embeddings plus positional encodings."""

import math
from dataclasses import dataclass

import numpy as np

from transformer.model.encodings import added_positions
from transformer.values.trace import SIDES, Stack, Trace
from transformer.values.weights import Weights


@dataclass(frozen=True, eq=False)
class EmbeddedText:
    """Vectors of N tokens at the input of an encoder or decoder, float64.

    Attributes:
        ids: token ids, [N].
        tokens: rows of the embedding matrix, [N, D].
        scale: sqrt(D), or 1 if the model does not scale embeddings.
        scaled: `tokens` times `scale`, [N, D].
        positions: positional encodings, [N, D]; None if the model has none, or if the trace was made with positions
            off.
        total: input of the first layer as recorded in the trace, [N, D]; after the embedding norm, if the model has
            one.
    """

    ids: np.ndarray
    tokens: np.ndarray
    scale: float
    scaled: np.ndarray
    positions: np.ndarray | None
    total: np.ndarray

    @property
    def summed(self) -> np.ndarray:
        """Scaled embeddings plus positional encodings, [N, D].

        Equal to `total` up to rounding if there is no embedding norm.
        """
        return self.scaled if self.positions is None else self.scaled + self.positions


def embedded_text(trace: Trace, weights: Weights, stack: Stack) -> EmbeddedText:
    """Return the embedded tokens of the encoder or the decoder, from a trace with details."""
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
