"""Turns tokens into vectors: each token selects a row of a table, which is scaled and gets its position added."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.notes import Notes
from transformer.config import TransformerConfig


class EmbeddingSaved(NamedTuple):
    """Token ids [B, N], the size of the table V, the factor, and the number of learned positions, if there are any."""

    pieces: np.ndarray
    vocabulary: int
    scale: float
    learned: int | None


def embedding(
    pieces: np.ndarray, table: np.ndarray, positions: np.ndarray | None, config: TransformerConfig, notes: Notes
) -> tuple[np.ndarray, EmbeddingSaved]:
    """x_n = sqrt(D) E[w_n] + P[n] ("Attention Is All You Need", sections 3.4 and 3.5).

    Args:
        pieces: ids w [B, N].
        table: E [V, D].
        positions: P [N, D]; None if none are added.
        config: says whether embeddings are scaled, and whether positions are learned.
        notes: gets tokens and summed, the rows of E and x, [B, N, D].

    Returns:
        x [B, N, D].
    """
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    x = scale * notes.note("tokens", table[pieces])
    if positions is not None:
        x = x + positions
    return notes.note("summed", x), EmbeddingSaved(pieces, len(table), scale, config.position_limit)


def embedding_backward(grad: np.ndarray, saved: EmbeddingSaved, notes: Notes) -> dict[str, np.ndarray]:
    """dE[v] = sqrt(D) sum of dx over all places with the token v; dP[n] = sum of dx[n] over the batch.

    Choosing a row is a product with a vector that has a single 1, so only the chosen rows get a gradient. A token that
    occurs twice gets both gradients. Computed positions have no parameter, and hence no gradient.

    Args:
        grad: dx [B, N, D].

    Returns:
        "embedding.weight" [V, D], and "positions.table" [max_positions, D] if they are learned.
    """
    pieces, vocabulary, scale, learned = saved
    tokens = notes.note("tokens", scale * notes.note("summed", grad))
    table = np.zeros((vocabulary, grad.shape[-1]))
    # `table[pieces] += ...` would add only once to a row that is named twice.
    np.add.at(table, pieces, tokens)
    gradients = {"embedding.weight": table}
    if learned is not None:
        gradients["positions.table"] = np.zeros((learned, grad.shape[-1]))
        gradients["positions.table"][: grad.shape[1]] = grad.sum(axis=0)
    return gradients
