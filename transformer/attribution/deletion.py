"""Deletion curves: how fast the prediction's score falls when tokens are deleted in the order of a method.

Samek et al. 2017, "Evaluating the Visualization of What a Deep Neural Network Has Learned".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# Maps masks of the remaining columns, bool [N, C], to the model's scores of the target [N].
Measure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class DeletionCurves:
    """Scores of a target, such as its log-probability, after k = 0, 1, ..., N columns were deleted; float64.

    Attributes:
        best_first: curve when the columns with the highest attribution are deleted first, [N + 1].
        worst_first: curve when the columns with the lowest attribution are deleted first, [N + 1].
        random: curves for random orders, [draws, N + 1].
    """

    best_first: np.ndarray
    worst_first: np.ndarray
    random: np.ndarray

    @property
    def gap(self) -> float:
        """Return the mean of worst_first minus best_first, in the unit of the measure; about 0 for random scores."""
        return area(self.worst_first) - area(self.best_first)

    @property
    def below_random(self) -> np.ndarray:
        """Return the mean of each random curve minus best_first, [draws]."""
        return np.array([area(curve) for curve in self.random]) - area(self.best_first)


def deletion_curves(
    measure: Measure, scores: np.ndarray, columns: Sequence[int], *, draws: int = 8, seed: int = 0
) -> DeletionCurves:
    """Delete the given columns one after the other and score the target each time.

    Args:
        measure: scores the target for masks of the remaining columns; called once for all curves.
        scores: attribution scores of a method, [C].
        columns: the N of the C columns to delete; the rest stays.
        draws: number of random orders.
        seed: seed of the random orders.
    """
    best = best_first(scores, columns)
    generator = np.random.default_rng(seed)
    orders = [best, best[::-1], *(generator.permutation(best) for _ in range(draws))]
    masks = np.concatenate([_remaining(order, len(scores)) for order in orders])
    curves = measure(masks).reshape(len(orders), len(best) + 1)
    return DeletionCurves(curves[0], curves[1], curves[2:])


def best_first(scores: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Sort columns by decreasing score; ties from left to right."""
    listed = np.array(sorted(columns))
    return listed[np.argsort(-scores[listed], kind="stable")]


def area(curve: np.ndarray) -> float:
    """Return the mean of a curve by the trapezoidal rule."""
    return float(np.trapezoid(curve) / (len(curve) - 1))


def _remaining(order: np.ndarray, columns: int) -> np.ndarray:
    """Return the mask of the remaining columns after each deletion, bool [N + 1, columns]."""
    masks = np.ones((len(order) + 1, columns), dtype=bool)
    for gone, column in enumerate(order, start=1):
        masks[gone:, column] = False
    return masks
