"""How numbers are written and weights are rounded, in figures, tables and exports alike. Pure."""

from __future__ import annotations

import numpy as np

DECIMALS = 4


def typeset(value: float, form: str | int = ".2f") -> str:
    """A number within a sentence or on a chart, with the minus sign of mathematics, at which no line breaks.

    Files have the hyphen, which programs read.

    Args:
        form: of `format`, such as "+.2f"; a number for the decimals of `formatted`.
    """
    return with_minus(formatted(value, form) if isinstance(form, int) else format(value, form))


def with_minus(number: str) -> str:
    """A number that is written already, with the minus sign of mathematics."""
    return number.replace("-", "−")


def formatted(value: float, digits: int = DECIMALS) -> str:
    """A number with a fixed number of decimals; one too small for them is written as a power, to differ from 0.

    Zero has no sign.
    """
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-digits else f"{value:z.{digits}f}"


def parameter_count(count: int) -> str:
    """How many parameters a model has: in millions, unless that would be none."""
    return f"{count / 1e6:.1f} million parameters" if count >= 100_000 else f"{count:,} parameters"


def rounded(weights: np.ndarray) -> np.ndarray:
    """Weights rounded to `DECIMALS` decimals; halves go up, as in the browser (`browser.wire.codes`)."""
    return np.floor(weights.astype(np.float64) * 10**DECIMALS + 0.5) / 10**DECIMALS
