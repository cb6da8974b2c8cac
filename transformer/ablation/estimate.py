"""Computes means with confidence intervals, and rank correlations."""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit


@dataclass(frozen=True)
class Estimate:
    """A mean over sentences or draws, with a confidence interval.

    Attributes:
        mean: the mean, float64.
        low, high: bounds of the mean's 95% confidence interval, each with the shape of `mean`.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def mean_over_draws(values: np.ndarray) -> Estimate:
    """Return the mean of R independent draws, [R, ...], with a 95% confidence interval from Student's t-distribution.

    A bootstrap interval would be too narrow for so few draws.

    Raises:
        ValueError: there are fewer than two draws.
    """
    if len(values) < 2:
        raise ValueError(f"a confidence interval needs at least two draws, not {len(values)}")
    values = np.asarray(values, dtype=np.float64)
    mean = values.mean(axis=0)
    reach = stdtrit(len(values) - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return Estimate(mean, mean - reach, mean + reach)


def rank_correlation(estimated: np.ndarray, measured: np.ndarray) -> float:
    """Return Spearman's rank correlation, -1 to 1, between estimated and measured values, [N] each."""
    # Imported here because importing scipy.stats takes 0.7 s, and most processes never call this function.
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(estimated), rankdata(measured))[0, 1])
