"""Charts of single arrays, and the table that says the same as a map. Pure: numbers in, a chart or a table out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.labels import column_labels, row_labels
from pages.ui.payload import decimals
from pages.ui.written import written
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


def sums(view: View, layer: int, head: int, positions: Sequence[int], *, of_rows: bool) -> pd.DataFrame | None:
    """What several pinned rows, or columns, of one head's map add up to: the sums of the numbers that `cells` shows.

    Args:
        positions: of the pinned pieces in the trace.
        of_rows: pinned are rows, and the sums are those of each column; otherwise the other way round.

    Returns:
        Columns column (or row; a position, from 1), to (or from; a label), and one named after what is summed: four
        decimals. None where fewer than two are pinned.
    """
    axes = view.axes
    groups = axes.row_positions if of_rows else axes.column_positions
    pinned = [index for index, group in enumerate(groups) if set(group) & set(positions)]
    if len(pinned) < 2:
        return None
    shown = decimals(view.weights[layer, head])
    totals = shown[pinned].sum(axis=0) if of_rows else shown[:, pinned].sum(axis=1)
    side, others, labels = ("rows", ("column", "to"), column_labels) if of_rows else (
        "columns", ("row", "from"), row_labels
    )
    numbers = ", ".join(str(index + 1) for index in pinned)
    return pd.DataFrame({
        others[0]: range(1, len(totals) + 1), others[1]: labels(axes),
        f"sum of {side} {numbers}": [f"{total:.4f}" for total in totals],
    })


# The colour of the text around a chart, whatever the theme; the theme's own for charts is too faint for a hall.
INK = {"labelColor": "currentColor", "titleColor": "currentColor"}
AXIS = {
    "labelFontSize": 12, "titleFontSize": 13, "labelOverlap": False, "labelFlush": False, "ticks": False,
    "domain": False, **INK,
}
LEGEND = {"orient": "bottom", "gradientThickness": 10, **INK}
# Cells that are elements of the page; more are painted, and what is painted knows no current colour but the theme's.
MOST_ELEMENTS = 2_000
# Up to so many rows and columns every one is labelled.
MOST_LABELS = 24


# What a masked cell looks like: not a small number, but none.
MASKED = "#8b93a3"
PICK = "pick"


def matrix(
    values: np.ndarray, rows: Sequence[str], columns: Sequence[str], *, name: str, scale: alt.Scale,
    titles: tuple[str | None, str | None] = (None, None), mask: np.ndarray | None = None, legend: bool = True,
    marks: tuple[str, np.ndarray] | None = None, picked: tuple[int, int] | None = None,
) -> alt.Chart | alt.LayerChart:
    """A matrix as a heatmap; row 0 is on top, and axes are positions that labels only name.

    Args:
        values: [R, C].
        rows, columns: labels.
        name: of the values.
        scale: their colours.
        titles: of the rows and of the columns.
        mask: bool [R, C], False = masked, which has its own look and is said instead of a number.
        legend: of the colours.
        marks: what a short text in every cell says, and the texts, [R, C].
        picked: row and column of a cell that is framed; a click on another selects `PICK` with fields row and column,
            from 1.
    """
    at_rows, at_columns = np.indices(values.shape).reshape(2, -1)
    seen = np.ones(values.size, dtype=bool) if mask is None else mask.ravel()
    table = pd.DataFrame({
        "row": at_rows + 1, "column": at_columns + 1, "value": values.ravel().astype(float),
        "shown": [written(value) if there else "masked" for value, there in zip(values.ravel(), seen, strict=True)],
        "from": np.array(rows, dtype=object)[at_rows], "to": np.array(columns, dtype=object)[at_columns],
    })
    tooltip = [alt.Tooltip("from:N"), alt.Tooltip("to:N"), alt.Tooltip("shown:N", title=name)]
    if marks is not None:
        table["mark"] = np.where(seen, marks[1].ravel(), "")
        tooltip.append(alt.Tooltip("mark:N", title=marks[0]))
    row_title, column_title = titles
    painted = values.size > MOST_ELEMENTS
    ink = dict.fromkeys(INK, alt.Undefined) if painted else {}
    drawn = {"usermeta": {"embedOptions": {"renderer": "canvas" if painted else "svg"}}}
    colour = alt.Color("value:Q", scale=scale, legend=alt.Legend(title=name, **{**LEGEND, **ink}) if legend else None)
    # Numbers stand upright; where there are many words, they are turned all the way, so that none covers another.
    if max(map(len, columns)) <= 3:
        turned = {"labelAngle": 0}
    elif len(columns) <= MOST_LABELS // 2:
        turned = {"labelAngle": -60, "labelAlign": "left"}
    else:
        turned = {"labelAngle": -90, "labelAlign": "left", "labelBaseline": "middle"}
    base = alt.Chart(table).encode(
        x=alt.X("column:O", title=column_title, axis=_axis(columns, orient="top", **turned, **ink)),
        y=alt.Y("row:O", title=row_title, axis=_axis(rows, labelLimit=90 if row_title is None else 170, **ink)),
    )
    cells = base.mark_rect().encode(
        color=colour if mask is None else alt.condition("datum.shown == 'masked'", alt.value(MASKED), colour),
        tooltip=tooltip,
    )
    # What is around the cells takes its share: labels, and titles if there are any.
    height = (120 if row_title is None else 210 if legend else 130) + max(140, min(340, 22 * len(rows)))
    if marks is not None and len(columns) <= MOST_LABELS:
        # Dark or light, whichever the brightness under it leaves readable.
        ink = alt.condition("datum.value > 0.6", alt.value("#0b1020"), alt.value("#ffffff"))
        cells += base.mark_text(fontSize=11).encode(text="mark:N", color=ink, tooltip=tooltip)
    if picked is None:
        return cells.properties(height=height, **drawn)
    framed = base.transform_filter(
        f"datum.row == {picked[0] + 1} && datum.column == {picked[1] + 1}"
    ).mark_rect(fillOpacity=0, stroke="#ef4444", strokeWidth=3)
    clicked = alt.selection_point(name=PICK, fields=["row", "column"], toggle=False)
    return (cells.add_params(clicked) + framed).properties(height=height, **drawn)


def _axis(labels: Sequence[str], **options: object) -> alt.Axis:
    shown = list(range(1, len(labels) + 1, -(-len(labels) // MOST_LABELS)))
    # JSON strings are string literals of Vega's expressions.
    named = f"{json.dumps(list(labels))}[datum.value - 1]"
    return alt.Axis(labelExpr=named, values=shown, **{**AXIS, "labelLimit": 90, **options})
