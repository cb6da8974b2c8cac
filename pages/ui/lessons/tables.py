"""Tables with the data of a lesson's figure, for the page, worksheets and downloads."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from attention_atlas.browser.labels import column_labels, row_labels
from attention_atlas.browser.token_labels import group_label
from pages.ui.lessons.measured_step import MeasuredStep
from transformer.analysis.view import axes_of
from transformer.lessons.claims.runs import PARTS
from transformer.lessons.evidence import JOBS, LATER_TOKENS, Evidence
from transformer.lessons.tables import TABLES, Table
from transformer.values.interventions import AS_TRAINED
from transformer.values.trace import Kind

# How a map's title describes where a head's attention goes, for each job of a head.
JOB_WORDS = {
    "previous": "on the one before",
    "next": "on the next",
    "same": "on itself",
    "end": "on the end",
    "start": "on the start",
    "alignment": "as all heads",
    "certain": "on one place",
    LATER_TOKENS: "ahead",
}
assert JOB_WORDS.keys() == {*JOBS, LATER_TOKENS}


def table_of(lesson_step: MeasuredStep) -> Table | None:
    """Return the data of a step's figure; None if the figure is not made from a table."""
    table = TABLES.get(lesson_step.step.show)
    return None if table is None else table(lesson_step.evidence, **lesson_step.figure)


def figure_table(lesson_step: MeasuredStep) -> pd.DataFrame | None:
    """Return a step's figure as a table for display; None if the figure is not made from a table."""
    table = table_of(lesson_step)
    return None if table is None else display_table(table)


def display_table(table: Table) -> pd.DataFrame:
    """Return a table for display, with token labels; if the table's rows are heads, each layer becomes one row."""
    if not table.across:
        labels = [
            label if isinstance(label, str) else group_label(label, table.text, words=False) for label in table.labels
        ]
        percentages = {name: [f"{value:.1%}" for value in table.columns[name]] for name in table.percent}
        return pd.DataFrame({table.head: labels, **table.columns, **percentages})
    rows = tile_rows(table)
    heads = range(1, table.across + 1)
    values = [
        [" | ".join(f"{column[index]:.2%}" for column in table.columns.values()) for index in range(len(table.labels))]
    ]
    cells = np.array(values, dtype=object).reshape(len(rows), table.across)
    return pd.DataFrame({", ".join(table.columns): rows, **{f"head {head}": cells[:, head - 1] for head in heads}})


def tile_rows(table: Table) -> list[str]:
    """Return the label of each row of tiles: the layer, preceded by the attention kind if there are several."""
    rows = [str(label).rpartition(", head ")[0] for label in table.labels[:: table.across]]
    kinds = {row.rpartition(", ")[0] for row in rows}
    layers = [row.rpartition(", ")[2] for row in rows]
    # Only the first word of the attention kind ("cross 3"), because labels have little room.
    return (
        layers
        if len(kinds) == 1
        else [
            f"{re.split('[ -]', row)[0]} {layer.removeprefix('layer ')}"
            for row, layer in zip(rows, layers, strict=True)
        ]
    )


def totals_of(table: Table) -> str:
    """Return the table's totals as one line of text."""
    return " · ".join(
        f"{name}: {value:.0%}" if isinstance(value, float) else f"{name}: {value}"
        for name, value in table.totals.items()
    )


def without_maps(
    evidence: Evidence, kind: Kind, head: str, part: str, job: str = ""
) -> list[tuple[str, list[str], list[str], np.ndarray, np.ndarray]]:
    """Return one head's map in the trained model and in the model with a part removed.

    Each map is a tuple of title, row labels, column labels, weights and mask; the last two have shape [rows, columns].

    Args:
        part: the part to remove, a key of `PARTS`.
        job: a job of a head, whose share of the attention goes into the titles; empty for none.
    """
    at = evidence.head(kind, head)
    article = "the mask" if part == "mask" else part
    maps = []
    for how, interventions in (("with", AS_TRAINED), ("without", PARTS[part])):
        trace = evidence.trace(interventions=interventions)
        axes = axes_of(trace, kind)
        title = f"Layer {at[0] + 1}, head {at[1] + 1}, {how} {article}"
        if job:
            # A short title, so that it fits on one line on a projector.
            share = evidence.shares(kind, job, interventions=interventions)[at]
            title = f"Head {at[0] + 1}.{at[1] + 1} {how} {article}: {share:.0%} {JOB_WORDS[job]}"
        maps.append((title, row_labels(axes), column_labels(axes), trace.attention(kind)[at], trace.mask(kind)))
    return maps
