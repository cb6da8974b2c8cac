"""Formats numbers and rounds weights, in figures, tables and exports alike. Pure."""

from __future__ import annotations

import numpy as np

DECIMALS = 4


def typeset(value: float, form: str | int = ".2f") -> str:
    """Return a number in a sentence or on a chart, with a true minus sign, at which no line breaks.

    Files have the hyphen, which programs can read.

    Args:
        form: format specification, such as "+.2f"; an integer sets the decimals of `formatted`.
    """
    return with_minus(formatted(value, form) if isinstance(form, int) else format(value, form))


def with_minus(number: str) -> str:
    """Return a formatted number, with a true minus sign."""
    return number.replace("-", "−")


def formatted(value: float, digits: int = DECIMALS) -> str:
    """Return a number with fixed decimals; one too small for them is written as a power, so that it differs from 0.

    Zero has no sign.
    """
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-digits else f"{value:z.{digits}f}"


def parameter_count(count: int) -> str:
    """Return the number of a model's parameters: in millions, unless that would round to zero."""
    return f"{count / 1e6:.1f} million parameters" if count >= 100_000 else f"{count:,} parameters"


def rounded(weights: np.ndarray) -> np.ndarray:
    """Return weights rounded to `DECIMALS` decimals; halves go up, as in the browser (`browser.wire.codes`)."""
    return np.floor(weights.astype(np.float64) * 10**DECIMALS + 0.5) / 10**DECIMALS
