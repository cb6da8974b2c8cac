"""Display names for what replaces a head's output."""

from __future__ import annotations

from transformer.values.interventions import Mode

MODES: dict[Mode, str] = {
    "zero": "nothing (zero)",
    "mean": "its mean output",
    "uniform": "equal attention",
    "resample": "its output for another sentence",
}
