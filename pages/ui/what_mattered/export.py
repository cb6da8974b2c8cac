"""Every number that was seen, as CSV and JSON."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pages.ui.charts import saving
from pages.ui.reading.sentence import Reading
from pages.ui.what_mattered.methods import DESCRIPTIONS, title
from pages.ui.what_mattered.question import Question
from transformer.values.trace import Trace


def save_buttons(
    reading: Reading, question: Question | None, table: pd.DataFrame, name: str, **further: pd.DataFrame
) -> None:
    """Draw the buttons.

    Args:
        question: that the numbers answer; None for those of all words.
        table: the numbers.
        name: of the files.
        further: other tables, for the JSON.
    """
    facts = run_facts(reading.trace, reading.translator.version, question)
    saving.save_buttons(name, csv_text(table, facts), json_text(table, facts, further), "mattered")


def run_facts(trace: Trace, version: str, question: Question | None) -> dict[str, Any]:
    """What somebody needs to compute the numbers again; positions count from 0, as in Python."""
    facts: dict[str, Any] = {
        "model": version, "sentence": trace.source_text, "translation": trace.target_text,
    }
    if question is not None:
        facts |= {
            "positions": list(question.target.positions),
            "against": None if question.target.against is None else list(question.target.against),
            "words": question.words,
        }
    return facts


def csv_text(table: pd.DataFrame, facts: dict[str, Any]) -> str:
    """Rows that each say by which method, against which baseline and of which model they are."""
    written = table.copy()
    if "method" in written:
        known = baselines()
        written["baseline"] = [known.get(method, "") for method in written["method"]]
    return saving.csv_text(written, facts)


def json_text(table: pd.DataFrame, facts: dict[str, Any], further: dict[str, pd.DataFrame]) -> str:
    """All of it as one object; what is not a number is null."""
    return saving.json_text({**facts, "baselines": baselines()}, {"numbers": table, **further})


def baselines() -> dict[str, str]:
    """What the numbers of each method are compared with, by its title."""
    return {title(method): each.baseline for method, each in DESCRIPTIONS.items()}
