"""How a number is written. Pure."""

from __future__ import annotations


def written(value: float, digits: int = 4) -> str:
    """A number with so many decimals; one too small for them is still told from 0."""
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-digits else f"{value:.{digits}f}"
