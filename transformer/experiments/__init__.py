"""Saved experiments, which can be rerun. Importing the package registers every type of run that a file may contain."""

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
