"""Exports all shown numbers as CSV and JSON, with the facts for computing them again, and as lines of Python."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pages.ui.charts import saving
from pages.ui.components.experiment import experiment_buttons
from pages.ui.reading.sentence import Reading
from pages.ui.switch_heads_off.switches import BASELINES
from transformer import __version__
from transformer.experiments.experiment import Experiment
from transformer.values.interventions import Interventions, head_name


def save_tables(
    reading: Reading,
    experiment: Experiment,
    interventions: Interventions,
    table: pd.DataFrame,
    name: str,
    *,
    lines: str = "",
    **further: Any,
) -> None:
    """Draw the lines of Python, if there are any, and the buttons that save the tables.

    Args:
        experiment: the experiment that produced the numbers.
        interventions: the changes in the run; if every head is measured on its own, only the mode.
        table: the table of the numbers.
        name: the name of the files.
        lines: lines of Python that compute the numbers.
        further: additional facts about these numbers, such as seed and draws.
    """
    facts = {**run_facts(reading, interventions), **further}
    if lines:
        saving.show_lines(lines, f"off_{name}")
    with saving.save_tables(name, "off", facts, {"numbers": table}, noted={"python": lines} if lines else {}):
        experiment_buttons(reading.runs, experiment, name)


def run_facts(reading: Reading, interventions: Interventions) -> dict[str, Any]:
    """Return program, model, sentence, translation, and the changes; heads as on the command line, counted from 1."""
    return {
        "program": f"Attention Atlas {__version__}",
        "model": reading.translator.version,
        "sentence": reading.trace.source_text,
        "translation": reading.trace.target_text,
        "mode": interventions.mode,
        "baseline": BASELINES[interventions.mode],
        **_reference(reading, interventions),
        "gates": {head_name(head): gate for head, gate in interventions.head_gates()},
    }


def _reference(reading: Reading, interventions: Interventions) -> dict[str, str]:
    """Return the sentences that replace a head's output, if the mode uses any."""
    means = reading.translator.means
    return {"reference": means.sentences} if means and interventions.mode in ("mean", "resample") else {}
