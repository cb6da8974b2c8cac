"""Saved experiments, which can be rerun. Importing this package registers all kinds of run in experiment files."""

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
