"""Deletion curves: how fast the prediction falls when tokens go in the order of a method.

Samek et al. 2017, "Evaluating the Visualization of What a Deep Neural Network Has Learned". Comprehensiveness and
sufficiency: DeYoung et al. 2020, "ERASER: A Benchmark to Evaluate Rationalized NLP Models", section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# From masks bool [N, C], True for what is left, to the model's score of the target [N].
Measure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class DeletionCurves:
    """Scores of a target, such as its log-probability, after k = 0, 1, ..., N columns are gone; float64.

    Attributes:
        best_first: the highest scores of the method go first, [N + 1].
        worst_first: [N + 1].
        random: in random orders, [draws, N + 1].
    """

    best_first: np.ndarray
    worst_first: np.ndarray
    random: np.ndarray

    @property
    def gap(self) -> float:
        """Mean height between worst and best first, in the unit of the measure: about 0 for a random order."""
        return area(self.worst_first) - area(self.best_first)

    @property
    def below_random(self) -> np.ndarray:
        """Mean height between each random order and best first, [draws]."""
        return np.array([area(curve) for curve in self.random]) - area(self.best_first)


def deletion_curves(
    measure: Measure, scores: np.ndarray, columns: Sequence[int], *, draws: int = 8, seed: int = 0
) -> DeletionCurves:
    """Delete columns one after the other; the others stay.

    Args:
        measure: scores a target with some columns gone; all curves are one call.
        scores: of a method, [C].
        columns: N of the C, to be deleted.
        draws: number of random orders.
        seed: of these.
    """
    best = best_first(scores, columns)
    generator = np.random.default_rng(seed)
    orders = [best, best[::-1], *(generator.permutation(best) for _ in range(draws))]
    masks = np.concatenate([_remaining(order, len(scores)) for order in orders])
    curves = measure(masks).reshape(len(orders), len(best) + 1)
    return DeletionCurves(curves[0], curves[1], curves[2:])


def best_first(scores: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Columns by falling score; equal ones from left to right."""
    listed = np.array(sorted(columns))
    return listed[np.argsort(-scores[listed], kind="stable")]


def area(curve: np.ndarray) -> float:
    """Mean of a curve by the trapezoidal rule."""
    return float(np.trapezoid(curve) / (len(curve) - 1))


def comprehensiveness(measure: Measure, order: np.ndarray, columns: int) -> float:
    """Mean fall of the score without the first k columns of an order, over k = 1 ... N; k = 0 is not counted."""
    curve = measure(_remaining(order, columns))
    return float((curve[0] - curve[1:]).mean())


def sufficiency(measure: Measure, order: np.ndarray, columns: int) -> float:
    """Mean fall of the score with only the first k columns of an order, over k = 1 ... N; k = 0 is not counted."""
    # The complement of deleting the order is keeping it; what is in no order stays.
    deleted = _remaining(order, columns)
    kept = ~deleted | deleted[-1]
    return float((measure(deleted[:1]) - measure(kept[1:])).mean())


def _remaining(order: np.ndarray, columns: int) -> np.ndarray:
    """Masks after each deletion, bool [N + 1, columns]."""
    masks = np.ones((len(order) + 1, columns), dtype=bool)
    for gone, column in enumerate(order, start=1):
        masks[gone:, column] = False
    return masks
