"""Names of the replacements of a head's output, as pages show them."""

from __future__ import annotations

from transformer.values.interventions import Mode

MODES: dict[Mode, str] = {
    "zero": "nothing (zero)",
    "mean": "its mean output",
    "uniform": "equal attention",
    "resample": "its output for another sentence",
}
