"""Exports the page's numbers as CSV and JSON files, with the settings needed to reproduce them."""

from typing import Any

import pandas as pd

from pages.ui.charts.downloads import save_tables
from pages.ui.components.experiment import experiment_buttons
from pages.ui.reading.sentence import Reading
from pages.ui.what_mattered.question import AttributionQuestion
from transformer.attribution.attribution import METHODS
from transformer.experiments.experiment import Experiment
from transformer.values.trace import Trace

# Maps each method's title to its baseline, the reference point that its scores are measured from.
BASELINES = {each.title: each.baseline for each in METHODS.values()}


def save_buttons(
    reading: Reading,
    experiment: Experiment,
    question: AttributionQuestion | None,
    table: pd.DataFrame,
    name: str,
    **further: pd.DataFrame,
) -> None:
    """Show buttons to download a table.

    Args:
        experiment: the experiment that produced the table.
        question: the attribution question that the table answers; None if the table covers all predicted words.
        table: the table to save.
        name: the base name of the files.
        further: additional tables for the JSON file.
    """
    with save_tables(
        name,
        "mattered",
        run_facts(reading.trace, reading.translator.version, question),
        {"numbers": table, **further},
        rows=with_baselines(table),
        extra_facts={"baselines": BASELINES},
    ):
        experiment_buttons(reading.runs, experiment, name)


def run_facts(trace: Trace, version: str, question: AttributionQuestion | None) -> dict[str, Any]:
    """Return the model, the texts and the attribution question for the JSON file; positions are 0-based."""
    facts: dict[str, Any] = {"model": version, "sentence": trace.source_text, "translation": trace.target_text}
    if question is not None:
        facts |= {
            "positions": list(question.target.positions),
            "against": None if question.target.against is None else list(question.target.against),
            "words": question.words,
        }
    return facts


def with_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a column added for the baseline of each row's method."""
    if "method" not in table:
        return table
    return table.assign(baseline=[BASELINES.get(method, "") for method in table["method"]])
