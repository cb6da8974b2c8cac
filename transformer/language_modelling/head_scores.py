"""Finds previous-token heads and induction heads.

Olsson et al. 2022, "In-context Learning and Induction Heads": an induction head looks at the token after an earlier
occurrence of its own token. For that, a head in a lower layer has copied each token to the next position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.language_modelling.attention_map import attention_weights
from transformer.model.devices import device_errors_explained
from transformer.model.transformer import Transformer

PATTERNS, LENGTH, SEED = 8, 25, 0
# A head gets a name if the corresponding score, a share of attention, is above this threshold. Clark et al. 2019
# (section 3.1) require more than half for previous-token heads; Olsson et al. give no threshold.
THRESHOLD = 0.5
# The name of a head whose score is above THRESHOLD, by the name of the score.
NAMES = {"previous": "previous token", "induction": "induction", "duplicate": "same token before"}


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Each head's mean attention to the tokens that an ideal previous-token, induction or duplicate-token head attends
    to, float64 [L, H].

    Attributes:
        previous: attention to the token before the query.
        induction: attention to the token after the earlier occurrence of the query's token; the paper's prefix
            matching.
        duplicate: attention to the earlier occurrence itself.
    """

    previous: np.ndarray
    induction: np.ndarray
    duplicate: np.ndarray


def head_scores(model: Transformer, *, patterns: int = PATTERNS, length: int = LENGTH, seed: int = SEED) -> HeadScores:
    """Measure the scores on random patterns. Each occurs twice, so that only the repetition predicts the next token.

    Args:
        model: in evaluation mode.
        patterns: number of patterns to average over.
        length: number of tokens of each pattern, all different.
        seed: seed of the patterns.

    Raises:
        ValueError: the vocabulary has too few tokens for such a pattern, or a key stands for several tokens.
        DeviceError: the device ran out of memory, or does not respond.
    """
    if model.config.attention == "compressed":
        raise ValueError("the scores need single tokens as keys, but this model compresses several tokens to one key")
    symbols = model.symbols
    # A pattern contains only tokens of ordinary text.
    ordinary = torch.tensor([token for token in range(model.config.target_vocabulary) if not symbols.role(token)])
    if len(ordinary) < length:
        raise ValueError(f"a pattern has {length} different tokens, but the vocabulary has only {len(ordinary)}")
    generator = torch.Generator().manual_seed(seed)
    patterns_drawn = torch.stack(
        [ordinary[torch.randperm(len(ordinary), generator=generator)[:length]] for _ in range(patterns)]
    )
    start = torch.full((patterns, 1), symbols.start)
    device = model.device
    with device_errors_explained(str(device)):
        weights = (
            attention_weights(model, torch.cat([start, patterns_drawn, patterns_drawn], dim=1).to(device))
            .double()
            .cpu()
            .numpy()
        )
    return scores_of(weights, length)


def scores_of(weights: np.ndarray, length: int) -> HeadScores:
    """The scores of weights [L, B, H, T, T] on texts of a start symbol and a pattern of `length` tokens, twice."""
    queries = np.arange(1, weights.shape[-2])
    again = queries[length:]

    def mean(at: np.ndarray, back: int) -> np.ndarray:
        return weights[..., at, at - back].mean(axis=(1, 3))  # [L, B, H, N] -> [L, H]

    return HeadScores(mean(queries, 1), mean(again, length - 1), mean(again, length))


def earlier_occurrences(tokens: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """For each position of a text, the earlier positions with the same token."""
    return tuple(
        tuple(before for before in range(index) if tokens[before] == token) for index, token in enumerate(tokens)
    )


def scores_in_text(weights: np.ndarray, tokens: Sequence[int]) -> HeadScores:
    """The scores in any text; `induction` and `duplicate` are NaN if no token occurs twice.

    These two are averaged over the positions whose token occurred before.

    Args:
        weights: attention weights, [L, H, T, T].
        tokens: ids of the T input tokens, beginning with the start symbol.
    """
    queries = np.arange(1, len(tokens))
    again = [(index, list(before)) for index, before in enumerate(earlier_occurrences(tokens)) if before]

    def mean(ahead: int) -> np.ndarray:
        if not again:
            return np.full(weights.shape[:2], np.nan)
        shares = [weights[..., at, [each + ahead for each in before]].sum(axis=-1) for at, before in again]
        return np.stack(shares).mean(axis=0, dtype=np.float64)

    return HeadScores(weights[..., queries, queries - 1].mean(axis=-1, dtype=np.float64), mean(1), mean(0))


def copying_heads(scores: HeadScores) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the names of the heads with a score above THRESHOLD, by 0-based layer and head."""
    heads: dict[tuple[int, int], tuple[str, ...]] = {}
    for score, name in NAMES.items():
        for layer, head in np.argwhere(getattr(scores, score) > THRESHOLD).tolist():
            heads[layer, head] = (*heads.get((layer, head), ()), name)
    return heads
