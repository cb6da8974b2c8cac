"""Tables of the numbers that lesson figures show, for the page, worksheets and downloads."""

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

# Words that describe, in the title of a map, where a head's attention goes. The keys are the jobs of heads.
JOB_WORDS = {
    "previous": "on the previous token",
    "next": "on the next token",
    "same": "on itself",
    "end": "on the end symbol",
    "start": "on the start symbol",
    "alignment": "on the top token of the heads' mean",
    "certain": "on one token",
    LATER_TOKENS: "on later tokens",
}
assert JOB_WORDS.keys() == {*JOBS, LATER_TOKENS}


def table_of(lesson_step: MeasuredStep) -> Table | None:
    """Return the table that a step's figure shows; None if the figure is not based on a table."""
    table = TABLES.get(lesson_step.step.show)
    return None if table is None else table(lesson_step.evidence, **lesson_step.figure)


def figure_table(lesson_step: MeasuredStep) -> pd.DataFrame | None:
    """Return the table behind a step's figure, formatted for display; None if the figure is not based on a table."""
    table = table_of(lesson_step)
    return None if table is None else display_table(table)


def display_table(table: Table) -> pd.DataFrame:
    """Return a table formatted for display. If the rows are heads, combine the heads of each layer in one row."""
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
    """Return a label for each row of tiles: the layer, preceded by the attention kind if there are several kinds."""
    rows = [str(label).rpartition(", head ")[0] for label in table.labels[:: table.across]]
    kinds = {row.rpartition(", ")[0] for row in rows}
    layers = [row.rpartition(", ")[2] for row in rows]
    # Labels have little room, so use only the first word of the attention kind, for example "cross 3".
    return (
        layers
        if len(kinds) == 1
        else [
            f"{re.split('[ -]', row)[0]} {layer.removeprefix('layer ')}"
            for row, layer in zip(rows, layers, strict=True)
        ]
    )


def totals_of(table: Table) -> str:
    """Return the totals of a table as one line of text."""
    return " · ".join(
        f"{name}: {value:.0%}" if isinstance(value, float) else f"{name}: {value}"
        for name, value in table.totals.items()
    )


def without_maps(
    evidence: Evidence, kind: Kind, head: str, part: str, job: str = ""
) -> list[tuple[str, list[str], list[str], np.ndarray, np.ndarray]]:
    """Return a head's attention maps in the trained model and in the model with one part removed.

    Args:
        evidence: model runs on the step's sentence.
        kind: the attention kind.
        head: the head, as named in the lesson file.
        part: the part to remove, a key of `PARTS`.
        job: the head's job, such as "next". If one is given, the maps' titles state how well the head does
            it.

    Returns:
        For each map: title, row labels, column labels, weights [rows, columns], and mask [rows, columns].
    """
    at = evidence.head(kind, head)
    article = "the mask" if part == "mask" else part
    maps = []
    for how, interventions in (("with", AS_TRAINED), ("without", PARTS[part])):
        trace = evidence.trace(interventions=interventions)
        axes = axes_of(trace, kind)
        title = f"Layer {at[0] + 1}, head {at[1] + 1}, {how} {article}"
        if job:
            # Use a short title, which fits on one line on a projector.
            share = evidence.shares(kind, job, interventions=interventions)[at]
            title = f"Head {at[0] + 1}.{at[1] + 1} {how} {article}: {share:.0%} {JOB_WORDS[job]}"
        maps.append((title, row_labels(axes), column_labels(axes), trace.attention(kind)[at], trace.mask(kind)))
    return maps
