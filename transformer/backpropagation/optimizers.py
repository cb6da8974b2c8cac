"""One step of each optimiser as a pure function, and the learning-rate schedule of "Attention Is All You Need".

Each optimiser takes parameters and gradients by name, and returns new parameters. Adam also takes its state and
returns a new one. Arrays are float64 and can have any shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

Arrays = Mapping[str, np.ndarray]


def sgd(parameters: Arrays, gradients: Arrays, *, learning_rate: float) -> dict[str, np.ndarray]:
    """Return p - lr g, one step of gradient descent (Robbins and Monro 1951, "A Stochastic Approximation Method")."""
    return {name: parameter - learning_rate * gradients[name] for name, parameter in parameters.items()}


@dataclass(frozen=True, eq=False)
class Moments:
    """Adam's state: running means of the gradients g and of g², by parameter name, and the number of steps taken."""

    mean: Arrays = field(default_factory=dict)
    square: Arrays = field(default_factory=dict)
    steps: int = 0


def adam(
    parameters: Arrays,
    gradients: Arrays,
    moments: Moments,
    *,
    learning_rate: float,
    betas: tuple[float, float] = (0.9, 0.98),
    epsilon: float = 1e-9,
) -> tuple[dict[str, np.ndarray], Moments]:
    """Compute p = p - lr m / (sqrt(s) + epsilon), where m and s are running means of g and g².

    m and s start at 0 and are too small in the first steps, so step t divides each by 1 - beta^t. Source: Kingma and Ba
    2015, algorithm 1. The default values are from "Attention Is All You Need", section 5.3.

    Args:
        parameters, gradients: p and g, by name.
        moments: state after the previous step; `Moments()` before the first step.
        learning_rate: lr.
        betas: fractions of m and of s that remain after a step, 0 to 1.
        epsilon: small number that avoids division by 0.

    Returns:
        New parameters and new moments.
    """
    first, second = betas
    steps = moments.steps + 1
    mean = {name: first * moments.mean.get(name, 0.0) + (1 - first) * g for name, g in gradients.items()}
    square = {name: second * moments.square.get(name, 0.0) + (1 - second) * g**2 for name, g in gradients.items()}
    updated = {}
    for name, parameter in parameters.items():
        m, s = mean[name] / (1 - first**steps), square[name] / (1 - second**steps)
        updated[name] = parameter - learning_rate * m / (np.sqrt(s) + epsilon)
    return updated, Moments(mean, square, steps)


def warmup(step: int, d_model: int, steps: int = 4_000) -> float:
    """Return lr = D^-0.5 min(step^-0.5, step * steps^-1.5) ("Attention Is All You Need", section 5.3, equation 3).

    Args:
        step: 1-based number of the step.
        d_model: model width D.
        steps: number of warm-up steps, during which lr rises. Afterwards, lr is proportional to 1 / sqrt(step).
    """
    return d_model**-0.5 * min(step**-0.5, step * steps**-1.5)
