"""Formats numbers and rounds weights, in figures, tables and exports alike. Pure."""

from __future__ import annotations

import numpy as np

DECIMALS = 4


def typeset(value: float, form: str | int = ".2f") -> str:
    """Format a number for a sentence or a chart, with a true minus sign at which no line breaks.

    Files use the hyphen instead, which programs can read.

    Args:
        form: a format specification, such as "+.2f"; an integer sets the number of decimals for `formatted`.
    """
    return with_minus(formatted(value, form) if isinstance(form, int) else format(value, form))


def with_minus(number: str) -> str:
    """Replace the hyphen of a formatted number with a true minus sign."""
    return number.replace("-", "−")


def formatted(value: float, digits: int = DECIMALS) -> str:
    """Format a number with fixed decimals; a smaller number uses a power of ten, so that it differs from 0.

    Zero has no sign.
    """
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-digits else f"{value:z.{digits}f}"


def parameter_count(count: int) -> str:
    """Format the number of a model's parameters in millions, unless that would round to zero."""
    return f"{count / 1e6:.1f} million parameters" if count >= 100_000 else f"{count:,} parameters"


def rounded(weights: np.ndarray) -> np.ndarray:
    """Round weights to `DECIMALS` decimals; halves are rounded up, as in the browser (`browser.wire.codes`)."""
    return np.floor(weights.astype(np.float64) * 10**DECIMALS + 0.5) / 10**DECIMALS
