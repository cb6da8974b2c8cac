"""Charts of single arrays, and the table that says the same as a map. Pure: numbers in, a chart or a table out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.labels import column_labels, row_labels
from pages.ui.payload import decimals
from transformer.analysis.view import View


def cells(view: View, layer: int, head: int) -> pd.DataFrame:
    """One head's map, a row a cell: what hovering, this table and every export say alike.

    Returns:
        Columns row and column (positions, from 1), from and to (labels), and weight: four decimals, or "masked".
    """
    weights = decimals(view.weights[layer, head])
    rows, columns = np.indices(weights.shape).reshape(2, -1)
    froms, tos = np.array(row_labels(view.axes), dtype=object), np.array(column_labels(view.axes), dtype=object)
    shown = [
        f"{weight:.4f}" if allowed else "masked"
        for weight, allowed in zip(weights.ravel(), view.mask.ravel(), strict=True)
    ]
    return pd.DataFrame(
        {"row": rows + 1, "from": froms[rows], "column": columns + 1, "to": tos[columns], "weight": shown}
    )


# The colour of the text around a chart, whatever the theme; the theme's own for charts is too faint for a hall.
AXIS = {
    "labelFontSize": 12, "titleFontSize": 13, "labelOverlap": False, "labelFlush": False, "ticks": False,
    "domain": False, "labelColor": "currentColor", "titleColor": "currentColor",
}
LEGEND = {"orient": "bottom", "gradientThickness": 10, "labelColor": "currentColor", "titleColor": "currentColor"}
# Up to so many rows and columns every one is labelled.
MOST_LABELS = 24


def matrix(
    values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, name: str, scale: alt.Scale
) -> alt.Chart:
    """A matrix as a heatmap; row 0 is on top, and axes are positions that labels only name.

    Args:
        values: [R, C].
        rows, columns: labels.
        name: of the values.
        scale: their colours.
    """
    at_rows, at_columns = np.indices(values.shape).reshape(2, -1)
    table = pd.DataFrame({
        "row": at_rows + 1, "column": at_columns + 1, "value": values.ravel().astype(float),
        "from": np.array(rows, dtype=object)[at_rows], "to": np.array(columns, dtype=object)[at_columns],
    })
    return alt.Chart(table).mark_rect().encode(
        x=alt.X("column:O", title=None, axis=_axis(columns, orient="top", labelAngle=-60, labelAlign="left")),
        y=alt.Y("row:O", title=None, axis=_axis(rows)),
        color=alt.Color("value:Q", scale=scale, legend=alt.Legend(title=name, **LEGEND)),
        tooltip=[alt.Tooltip("from:N"), alt.Tooltip("to:N"), alt.Tooltip("value:Q", format=".4f", title=name)],
    ).properties(height=120 + max(140, min(340, 22 * len(rows))))


def _axis(labels: Sequence[str], **options: object) -> alt.Axis:
    shown = list(range(1, len(labels) + 1, -(-len(labels) // MOST_LABELS)))
    # JSON strings are string literals of Vega's expressions.
    named = f"{json.dumps(list(labels))}[datum.value - 1]"
    return alt.Axis(labelExpr=named, labelLimit=90, values=shown, **options, **AXIS)
