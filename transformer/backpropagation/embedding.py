"""Embeds tokens: looks up each token's row in a table, scales the row, and adds a positional encoding."""

import math
from typing import NamedTuple

import numpy as np

from transformer.backpropagation.notes import Notes
from transformer.config import TransformerConfig


class EmbeddingSaved(NamedTuple):
    """Token ids [B, N], vocabulary size V, scale factor, and number of learned positions (None if not learned)."""

    ids: np.ndarray
    vocabulary: int
    scale: float
    learned: int | None


def embedding(
    ids: np.ndarray, table: np.ndarray, positions: np.ndarray | None, config: TransformerConfig, notes: Notes
) -> tuple[np.ndarray, EmbeddingSaved]:
    """Return x_n = sqrt(D) E[w_n] + P[n] ("Attention Is All You Need", sections 3.4 and 3.5).

    Args:
        ids: token ids w, [B, N].
        table: embedding table E, [V, D].
        positions: positional encodings P, [N, D]; None if the model adds none.
        config: determines whether embeddings are scaled, and whether positional encodings are learned.
        notes: receives "tokens" (the rows of E) and "summed" (x), each [B, N, D].

    Returns:
        Output x, [B, N, D], and the values that the backward pass needs.
    """
    scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
    x = scale * notes.note("tokens", table[ids])
    if positions is not None:
        x = x + positions
    return notes.note("summed", x), EmbeddingSaved(ids, len(table), scale, config.position_limit)


def embedding_backward(grad: np.ndarray, saved: EmbeddingSaved, notes: Notes) -> dict[str, np.ndarray]:
    """Return dE and, if positional encodings are learned, dP.

    dE[v] is sqrt(D) times the sum of dx over all occurrences of token v. It therefore contains both gradients of a
    token that occurs twice, and is 0 for a token that does not occur. dP[n] is the sum of dx[n] over the batch.
    Computed positional encodings have no parameter, and therefore no gradient.

    Args:
        grad: gradient of the output, dx [B, N, D].
        saved: values from the forward pass.
        notes: receives the gradients named "tokens" and "summed".

    Returns:
        "embedding.weight" [V, D], and "positions.table" [max_positions, D] if positional encodings are learned.
    """
    ids, vocabulary, scale, learned = saved
    tokens = notes.note("tokens", scale * notes.note("summed", grad))
    table = np.zeros((vocabulary, grad.shape[-1]))
    # If an id occurs twice, `table[ids] += ...` would add only one of the gradients.
    np.add.at(table, ids, tokens)
    gradients = {"embedding.weight": table}
    if learned is not None:
        gradients["positions.table"] = np.zeros((learned, grad.shape[-1]))
        gradients["positions.table"][: grad.shape[1]] = grad.sum(axis=0)
    return gradients
