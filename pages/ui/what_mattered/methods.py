"""Titles and descriptions of the attribution methods for display."""

import numpy as np

from pages.ui.text.number_format import typeset
from transformer.attribution.attribution import METHODS, Attribution, Method


def title(method: Method) -> str:
    """Return a method's display title."""
    return METHODS[method].title


def unit_and_sum(attribution: Attribution) -> str:
    """Describe the unit of a method's scores, and what the scores for the first target add up to."""
    properties, total = METHODS[attribution.method], float(attribution.total[0])
    if properties.adds_up == "no":
        return f"{properties.unit}; each score measured separately" if properties.measured else properties.unit
    if properties.adds_up == "separately":
        return "shares; add up to 1 per language"
    if not attribution.remainders:
        adds = f"adds up to {typeset(total)}"
        off = float(attribution.error()[0])
        return f"{properties.unit}s; {adds}" if properties.unit == "share" else f"{properties.unit}; {adds} ± {off:.2f}"
    rest = sum(float(part[0]) for part in attribution.remainders.values())
    return f"{properties.unit}; words {typeset(total - rest)}, total {typeset(total)}"


def has_scores(attribution: Attribution) -> bool:
    """Return whether the method has a score for every source column."""
    return bool(np.isfinite(attribution.source[0]).all())
