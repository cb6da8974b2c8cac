"""Number formats and the rounding of weights that all figures, tables and exports share."""

import numpy as np

DECIMALS = 4


def typeset(value: float, form: str | int = ".2f") -> str:
    """Format a number for a sentence or a chart, with a true minus sign, so that a line never breaks after the sign.

    Saved files contain a hyphen instead, because programs can parse it.

    Args:
        form: a format specification such as "+.2f", or the number of decimal places for `formatted`.
    """
    return with_minus(formatted(value, form) if isinstance(form, int) else format(value, form))


def with_minus(number: str) -> str:
    """Replace each hyphen in a formatted number with a true minus sign."""
    return number.replace("-", "−")


def formatted(value: float, digits: int = DECIMALS) -> str:
    """Format a number with a fixed number of decimal places, or in scientific notation if it would otherwise look
    like 0. Negative zero is shown without a sign.
    """
    return f"{value:.1e}" if 0 < abs(value) < 0.5 * 10**-digits else f"{value:z.{digits}f}"


def parameter_count(count: int) -> str:
    """Format a parameter count, in millions if it is at least 100,000."""
    return f"{count / 1e6:.1f} million parameters" if count >= 100_000 else f"{count:,} parameters"


def rounded(weights: np.ndarray) -> np.ndarray:
    """Round weights to `DECIMALS` decimal places, halves up, as the browser does (`browser.wire.codes`)."""
    return np.floor(weights.astype(np.float64) * 10**DECIMALS + 0.5) / 10**DECIMALS
