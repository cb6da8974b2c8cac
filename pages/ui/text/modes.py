"""Display names of the modes; a mode determines what replaces the output of a head that is off."""

from transformer.values.interventions import Mode

MODES: dict[Mode, str] = {
    "zero": "nothing (zero)",
    "mean": "its mean output",
    "uniform": "equal attention",
    "resample": "its output for another sentence",
}
