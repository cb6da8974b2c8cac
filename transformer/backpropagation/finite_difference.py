"""Approximates a gradient numerically: changes one number slightly, and measures the change in the loss."""

from collections.abc import Mapping

import numpy as np

from transformer.backpropagation.gradients import LossInputs, loss
from transformer.config import TransformerConfig

# A larger step increases the truncation error, a smaller one the rounding error. With this step, the error is about
# 1e-9.
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
    """Return (L(x + h) - L(x - h)) / 2h for one number x (central difference).

    Source: Press et al. 2007, "Numerical Recipes", section 5.7.

    Args:
        parameters, config, batch: as in `loss`.
        name: name of the parameter or intermediate result that contains x.
        at: index of x in the array.
        shape: shape of the array.
        step: step h.
    """

    def moved(by: float) -> float:
        nudge = np.zeros(shape)
        nudge[at] = by
        if name in parameters:
            return loss({**parameters, name: parameters[name] + nudge}, config, batch)
        return loss(parameters, config, batch, {name: nudge})

    return (moved(step) - moved(-step)) / (2 * step)
