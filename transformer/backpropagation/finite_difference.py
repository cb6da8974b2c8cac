"""Computes a gradient without a formula: changes one number a little and measures the change of the loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from transformer.backpropagation.gradients import LossInputs, loss
from transformer.config import TransformerConfig

# A larger step shows the curvature; a smaller one shows the rounding of the loss. The error is about 1e-9 here.
STEP = 1e-5


def finite_difference(
    parameters: Mapping[str, np.ndarray],
    config: TransformerConfig,
    batch: LossInputs,
    name: str,
    at: tuple[int, ...],
    shape: tuple[int, ...],
    step: float = STEP,
) -> float:
    """(L(x + h) - L(x - h)) / 2h for one number x (central difference; Press et al. 2007, "Numerical Recipes", 5.7).

    Args:
        name: of a parameter or an intermediate result.
        at: index of the number in it.
        shape: of the array.
        step: h.
    """

    def moved(by: float) -> float:
        nudge = np.zeros(shape)
        nudge[at] = by
        if name in parameters:
            return loss({**parameters, name: parameters[name] + nudge}, config, batch)
        return loss(parameters, config, batch, {name: nudge})

    return (moved(step) - moved(-step)) / (2 * step)
