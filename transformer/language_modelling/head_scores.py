"""Finds previous-token heads and induction heads.

An induction head looks at the token after an earlier occurrence of the current token (Olsson et al. 2022, "In-context
Learning and Induction Heads"). This works because a head in a lower layer has copied each token to the next position.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.language_modelling.attention_map import attention_weights
from transformer.model.devices import device_errors_explained
from transformer.model.transformer import Transformer

PATTERNS, LENGTH, SEED = 8, 25, 0
# A head gets a name if its score, a fraction of its attention, is above this threshold. Clark et al. 2019 (section 3.1)
# also require more than half for previous-token heads; Olsson et al. give no threshold.
THRESHOLD = 0.5
# For each score, the name of a head whose score is above THRESHOLD.
NAMES = {"previous": "previous token", "induction": "induction", "duplicate": "duplicate token"}


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Mean attention of each head to the tokens that an ideal copying head would look at, float64 [L, H].

    Attributes:
        previous: attention to the token before the query.
        induction: attention to the token after an earlier occurrence of the query's token; called prefix matching by
            Olsson et al.
        duplicate: attention to the earlier occurrence of the query's token.
    """

    previous: np.ndarray
    induction: np.ndarray
    duplicate: np.ndarray


def head_scores(model: Transformer, *, patterns: int = PATTERNS, length: int = LENGTH, seed: int = SEED) -> HeadScores:
    """Score the heads on random patterns. Each pattern occurs twice, so that only the repetition is predictable.

    Args:
        model: model in evaluation mode.
        patterns: number of patterns to average over.
        length: number of tokens in each pattern, all distinct.
        seed: random seed of the patterns.

    Raises:
        ValueError: the vocabulary has too few tokens for a pattern, or each key of the model represents several tokens.
        DeviceError: the device ran out of memory, or does not respond.
    """
    if model.config.attention == "compressed":
        raise ValueError("the scores need single tokens as keys, but this model compresses several tokens into one key")
    symbols = model.symbols
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
    """Compute head scores from weights [L, B, H, T, T] on texts that contain one pattern twice after the start symbol.

    Args:
        weights: attention weights.
        length: number of tokens in the pattern, which occurs twice.
    """
    queries = np.arange(1, weights.shape[-2])
    again = queries[length:]

    def mean(at: np.ndarray, back: int) -> np.ndarray:
        return weights[..., at, at - back].mean(axis=(1, 3))  # [L, B, H, N] -> [L, H]

    return HeadScores(mean(queries, 1), mean(again, length - 1), mean(again, length))


def earlier_occurrences(tokens: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return, for each position in a text, the earlier positions with the same token."""
    return tuple(
        tuple(before for before in range(index) if tokens[before] == token) for index, token in enumerate(tokens)
    )


def scores_in_text(weights: np.ndarray, tokens: Sequence[int]) -> HeadScores:
    """Compute head scores from the attention on any text; `induction` and `duplicate` are NaN if no token repeats.

    `induction` and `duplicate` are averaged over the positions whose token occurred earlier in the text.

    Args:
        weights: attention weights, [L, H, T, T].
        tokens: T input token ids, beginning with the start symbol.
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
