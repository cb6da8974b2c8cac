"""The learning rate over the steps of a training run."""

from __future__ import annotations


def trapezoid(step: int, *, steps: int, warmup: int, cooldown: float) -> float:
    """Linear warm-up, a plateau, and a linear decay to 0.

    Because of the plateau the end can move: a run can be resumed with more steps, or cooled down early with fewer, and
    earlier steps stay the same (Hägele et al. 2024, "Scaling Laws and Compute-Optimal Training Beyond Fixed Training
    Durations", section 3).

    Args:
        step: number of the step, from 0.
        steps: number of steps of the whole run.
        warmup: number of steps on the way up.
        cooldown: share of all steps on the way down.

    Returns:
        Factor of the peak learning rate, above 0 and at most 1.
    """
    up = (step + 1) / warmup if warmup else 1.0
    down = (steps - step) / max(1.0, cooldown * steps)
    return max(0.0, min(1.0, up, down))
