"""Deletion curves show how fast a prediction's score falls when tokens are deleted in the order of a method's ranking.

Source: Samek et al. 2017, "Evaluating the Visualization of What a Deep Neural Network Has Learned".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# Maps masks of the remaining columns, bool [N, C], to the target's scores, [N].
Measure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class DeletionCurves:
    """A target's score, such as its log-probability, after deleting 0, 1, ..., N columns; float64.

    Attributes:
        best_first: curve when the columns with the highest attribution scores are deleted first, [N + 1].
        worst_first: curve when the columns with the lowest attribution scores are deleted first, [N + 1].
        random: curves for random deletion orders, [draws, N + 1].
    """

    best_first: np.ndarray
    worst_first: np.ndarray
    random: np.ndarray

    @property
    def gap(self) -> float:
        """Mean height of worst_first minus mean height of best_first; about 0 for random attributions."""
        return area(self.worst_first) - area(self.best_first)

    @property
    def below_random(self) -> np.ndarray:
        """Mean height of each random curve minus the mean height of best_first, [draws]."""
        return np.array([area(curve) for curve in self.random]) - area(self.best_first)


def deletion_curves(
    measure: Measure, scores: np.ndarray, columns: Sequence[int], *, draws: int = 8, seed: int = 0
) -> DeletionCurves:
    """Return the target's scores as columns are deleted one by one, in several orders.

    Args:
        measure: function that scores the target for masks of the remaining columns; called once for all curves.
        scores: a method's attribution scores, [C].
        columns: indices of the N columns to delete, out of C; all other columns stay.
        draws: number of random orders.
        seed: random seed.
    """
    best = best_first(scores, columns)
    generator = np.random.default_rng(seed)
    orders = [best, best[::-1], *(generator.permutation(best) for _ in range(draws))]
    masks = np.concatenate([_remaining(order, len(scores)) for order in orders])
    curves = measure(masks).reshape(len(orders), len(best) + 1)
    return DeletionCurves(curves[0], curves[1], curves[2:])


def best_first(scores: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Sort columns by decreasing score, with ties from left to right."""
    ordered = np.array(sorted(columns))
    return ordered[np.argsort(-scores[ordered], kind="stable")]


def area(curve: np.ndarray) -> float:
    """Return a curve's mean height, by the trapezoidal rule."""
    return float(np.trapezoid(curve) / (len(curve) - 1))


def _remaining(order: np.ndarray, columns: int) -> np.ndarray:
    """Return masks of the remaining columns, before the first deletion and after each one, bool [N + 1, columns]."""
    masks = np.ones((len(order) + 1, columns), dtype=bool)
    for gone, column in enumerate(order, start=1):
        masks[gone:, column] = False
    return masks
