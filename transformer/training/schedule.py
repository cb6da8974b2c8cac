"""Learning-rate schedule of a training run."""


def trapezoid(step: int, *, steps: int, warmup: int, cooldown: float) -> float:
    """Return the learning-rate factor at a step: linear warm-up, a plateau, then linear decay towards 0.

    Before the decay, the factor does not depend on the total number of steps. A run can therefore be extended with more
    steps, or cooled down early, without changing earlier steps (Hägele et al. 2024, "Scaling Laws and Compute-Optimal
    Training Beyond Fixed Training Durations", section 3).

    Args:
        step: 0-based number of the step.
        steps: total number of steps.
        warmup: number of steps over which the rate rises.
        cooldown: fraction of all steps, 0 to 1, over which the rate decays at the end.

    Returns:
        Factor by which to multiply the peak learning rate, above 0 and at most 1.
    """
    up = (step + 1) / warmup if warmup else 1.0
    down = (steps - step) / max(1.0, cooldown * steps)
    return max(0.0, min(1.0, up, down))
