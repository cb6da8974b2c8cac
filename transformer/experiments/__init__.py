"""Saved experiments, which can be run again. Importing this package registers every run that they may contain."""

from importlib import import_module

for module in (
    "ablation.continuation",
    "ablation.effect",
    "ablation.patching",
    "ablation.removal",
    "language_modelling.runs",
    "lessons.finding_run",
    "running.runs",
):
    import_module(f"transformer.{module}")
