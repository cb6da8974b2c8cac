"""Tests whether attribution methods agree, and whether the agreement exceeds chance.

Kendall's tau-b compares two rankings of the same tokens. For unrelated rankings, tau has mean 0. Its
standard deviation depends only on the number of tokens (Kendall 1938, "A New Measure of Rank Correlation"). With few
tokens, the deviation is large, so even unrelated rankings often agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.attribution.attribution import Attribution, Method

# 95% of a normal distribution lies within this many standard deviations of the mean.
NORMAL_95 = 1.96


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well M attribution methods agree about which source tokens mattered for one target.

    Attributes:
        methods: names of the methods.
        columns: the N source columns that were ranked.
        tau: Kendall's tau-b of each pair of methods, [M, M]; NaN if a method gives every column the same score.
        same_first: whether each pair of methods ranks the same column first, bool [M, M].
        chance: magnitude that tau does not exceed in 95% of pairs of unrelated rankings.
    """

    methods: tuple[Method, ...]
    columns: tuple[int, ...]
    tau: np.ndarray
    same_first: np.ndarray
    chance: float

    @property
    def above_chance(self) -> np.ndarray:
        """Mask of the method pairs whose tau exceeds `chance` in magnitude, bool [M, M]."""
        return abs(self.tau) > self.chance


def agreement(attributions: Sequence[Attribution], columns: Sequence[int], target: int = 0) -> Agreement:
    """Compare how several methods rank the source tokens for one target.

    Args:
        attributions: one attribution per method, all with the same targets and token groups. Scores are ranked with
            their sign, so negative scores come last.
        columns: source columns to rank, for example all words but no special tokens.
        target: index of the target.

    Raises:
        ValueError: there are fewer than two columns to rank.
    """
    if len(columns) < 2:
        raise ValueError(f"a ranking needs at least two tokens, not {len(columns)}")
    scores = [attribution.source[target, list(columns)] for attribution in attributions]
    first = np.array([score.argmax() for score in scores])
    return Agreement(
        methods=tuple(attribution.method for attribution in attributions),
        columns=tuple(columns),
        tau=np.array([[kendall_tau(one, other) for other in scores] for one in scores]),
        same_first=first[:, None] == first,
        chance=NORMAL_95 * chance_deviation(len(columns)),
    )


def kendall_tau(one: np.ndarray, other: np.ndarray) -> float:
    """Return Kendall's tau-b between two lists of scores, [N] each; NaN if all scores in one list are equal."""
    # Imported here because importing scipy.stats takes 0.7 s, and few processes call this function.
    from scipy.stats import kendalltau

    return float(np.asarray(kendalltau(one, other, variant="b"))[0])


def chance_deviation(tokens: int) -> float:
    """Return the standard deviation of tau between unrelated rankings of N tokens without ties, for N >= 2."""
    return math.sqrt(2 * (2 * tokens + 5) / (9 * tokens * (tokens - 1)))
