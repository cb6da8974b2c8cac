"""Whether methods agree, and whether that is more than chance.

Kendall's tau-b compares two rankings of the same tokens. With few tokens unrelated rankings agree often: their tau has
mean 0 and a deviation that only depends on the number of tokens (Kendall 1938, "A New Measure of Rank Correlation").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.attribution.attribution import Attribution, Method

# 95 % of a normal distribution are within this number of standard deviations.
BAND = 1.96


@dataclass(frozen=True, eq=False)
class Agreement:
    """The agreement of M methods on the source of one target.

    Attributes:
        methods: their names.
        columns: which columns of the source were ranked, N of them.
        tau: Kendall's tau-b of each pair, [M, M]; NaN where a method scores all alike.
        same_first: whether each pair puts the same column first, bool [M, M].
        chance: half the width of the band in which 95 % of unrelated rankings lie.
    """

    methods: tuple[Method, ...]
    columns: tuple[int, ...]
    tau: np.ndarray
    same_first: np.ndarray
    chance: float

    @property
    def above_chance(self) -> np.ndarray:
        """Mask of the pairs that differ from unrelated rankings; bool [M, M]."""
        return abs(self.tau) > self.chance


def agreement(attributions: Sequence[Attribution], columns: Sequence[int], target: int = 0) -> Agreement:
    """Compare methods on one target.

    Args:
        attributions: of the same targets and groups. Scores that speak against the word rank below those of 0.
        columns: of the source to rank, such as those of the words: special tokens, which stand for no word, left out.
        target: which of their targets.

    Raises:
        ValueError: there are fewer than two columns to rank.
    """
    if len(columns) < 2:
        raise ValueError("a ranking needs at least two tokens")
    scores = [attribution.source[target, list(columns)] for attribution in attributions]
    first = np.array([score.argmax() for score in scores])
    return Agreement(
        methods=tuple(attribution.method for attribution in attributions),
        columns=tuple(columns),
        tau=np.array([[kendall_tau(one, other) for other in scores] for one in scores]),
        same_first=first[:, None] == first,
        chance=BAND * chance_deviation(len(columns)),
    )


def kendall_tau(one: np.ndarray, other: np.ndarray) -> float:
    """Kendall's tau-b of two lists of scores [N]; NaN if one of them has all scores alike."""
    # Importing scipy.stats takes 0.7 s, and few processes come here.
    from scipy.stats import kendalltau

    return float(np.asarray(kendalltau(one, other, variant="b"))[0])


def chance_deviation(pieces: int) -> float:
    """Standard deviation of tau between unrelated rankings of N >= 2 tokens without ties."""
    return math.sqrt(2 * (2 * pieces + 5) / (9 * pieces * (pieces - 1)))
