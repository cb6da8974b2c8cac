"""Pieces become vectors: a row of a table each, scaled, and the encoding of the position added."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.notes import Notes
from transformer.config import TransformerConfig
from transformer.model.sinusoids import sinusoids


class EmbeddingSaved(NamedTuple):
    """Piece ids [B, N], the size of the table V, the factor, and the number of learned positions (0 for none)."""

    pieces: np.ndarray
    vocabulary: int
    scale: float
    positions: int


def embedding(
    pieces: np.ndarray, table: np.ndarray, positions: np.ndarray | None, config: TransformerConfig, notes: Notes
) -> tuple[np.ndarray, EmbeddingSaved]:
    """x_n = sqrt(D) E[w_n] + P[n] ("Attention Is All You Need", sections 3.4 and 3.5).

    Args:
        pieces: ids w [B, N].
        table: E [V, D].
        positions: P [max_positions, D] of a model that has learned them; else None.
        config: says whether embeddings are scaled, and which positions are added.
        notes: gets tokens and input, the rows of E and x, [B, N, D].

    Returns:
        x [B, N, D].
    """
    length, width = pieces.shape[1], table.shape[1]
    scale = math.sqrt(width) if config.scale_embedding else 1.0
    x = scale * notes.note("tokens", table[pieces])
    if positions is not None:
        x = x + positions[:length]
    elif config.positions != "none":
        x = x + sinusoids(length, width, halves=config.positions == "sinusoidal_halves")
    learned = 0 if positions is None else len(positions)
    return notes.note("input", x), EmbeddingSaved(pieces, len(table), scale, learned)


def embedding_backward(grad: np.ndarray, saved: EmbeddingSaved, notes: Notes) -> dict[str, np.ndarray]:
    """dE[v] = sqrt(D) sum of dx over all places with the piece v; dP[n] = sum of dx[n] over the batch.

    Choosing a row is a product with a vector that has a single 1, so the gradient goes to the chosen rows alone, and a
    piece that occurs twice gets both. Computed positions have no parameter, and hence no gradient.

    Args:
        grad: dx [B, N, D].

    Returns:
        "embedding.weight" [V, D], and "positions.table" [max_positions, D] if they are learned.
    """
    pieces, vocabulary, scale, positions = saved
    tokens = notes.note("tokens", scale * notes.note("input", grad))
    table = np.zeros((vocabulary, grad.shape[-1]))
    # Not `table[pieces] += ...`, which adds once to a row that is named twice.
    np.add.at(table, pieces, tokens)
    gradients = {"embedding.weight": table}
    if positions:
        gradients["positions.table"] = np.zeros((positions, grad.shape[-1]))
        gradients["positions.table"][: grad.shape[1]] = grad.sum(axis=0)
    return gradients
