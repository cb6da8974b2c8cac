"""Exports the page's numbers as CSV and JSON files, with the settings and Python code needed to reproduce them."""

from typing import Any

import pandas as pd

from pages.ui.charts import downloads
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
    """Show Python code that reproduces the numbers, if there is any, and buttons to download the numbers.

    Args:
        experiment: the experiment that produced the numbers.
        interventions: the interventions of the model run; if the table covers several runs, only the mode is set.
        table: the table of numbers to save.
        name: the base name of the files.
        lines: Python code that computes the table; empty for none.
        further: additional facts for the files, such as the seed.
    """
    facts = {**run_facts(reading, interventions), **further}
    if lines:
        downloads.show_lines(lines, f"off_{name}")
    with downloads.save_tables(name, "off", facts, {"numbers": table}, extra_facts={"python": lines} if lines else {}):
        experiment_buttons(reading.runs, experiment, name)


def run_facts(reading: Reading, interventions: Interventions) -> dict[str, Any]:
    """Return the settings to save, such as the sentence and the gates; heads are named as on the command line."""
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
    """Return {"reference": digest of the sentences that supply replacement outputs}; empty if none are needed."""
    means = reading.translator.means
    return {"reference": means.sentences} if means and interventions.mode in ("mean", "resample") else {}
