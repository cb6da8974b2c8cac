"""Square heat map of Kendall's tau for every pair of attribution methods."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from pages.ui.charts.layers import layer_charts
from pages.ui.charts.matrix import LEGEND, labelled_axis
from pages.ui.charts.palette import DARK, LIGHT, MASKED, diverging
from pages.ui.text.number_format import typeset
from pages.ui.what_mattered.methods import title
from transformer.attribution.attribution import Method


def pair_columns(methods: Sequence[Method]) -> dict[str, np.ndarray]:
    """Return table columns with the methods of each pair, and the pair's 1-based row and column in the square."""
    rows, columns = np.indices((len(methods), len(methods))).reshape(2, -1)
    names = np.array([title(method) for method in methods], dtype=object)
    return {"method": names[rows], "other method": names[columns], "row": rows + 1, "column": columns + 1}


def square_chart(methods: Sequence[Method], table: pd.DataFrame, facts: Sequence[alt.Tooltip]) -> alt.LayerChart:
    """Return a heat map of tau in which a cell is grey if chance could explain its value.

    Args:
        table: one row per ordered pair of methods, with the columns "method", "other method", "row", "column", "tau",
            "beyond chance" (False makes the cell grey), and those in `facts`.
        facts: additional columns for the tooltip.
    """
    names = [title(method) for method in methods]
    row_axis, row_names = labelled_axis("row_labels", names, labelLimit=150)
    column_axis, column_names = labelled_axis(
        "column_labels", names, orient="top", labelAngle=-60, labelAlign="left", labelLimit=150
    )
    cells_table = table.assign(
        inside=~table["beyond chance"],
        text=[typeset(tau) if np.isfinite(tau) else "–" for tau in table.tau],
        ink=[
            LIGHT if abs(tau) > 0.75 and beyond else DARK
            for tau, beyond in zip(table.tau, table["beyond chance"], strict=True)
        ],
    )
    base = alt.Chart(cells_table).encode(
        x=alt.X("column:O", title=None, axis=column_axis),
        y=alt.Y("row:O", title=None, axis=row_axis),
        tooltip=["method:N", "other method:N", alt.Tooltip("text:N", title="tau"), *facts],
    )
    cells = (
        base.transform_filter("!datum.inside")
        .mark_rect()
        .encode(color=alt.Color("tau:Q", scale=diverging(1.0), legend=alt.Legend(title="Kendall's tau", **LEGEND)))
    )
    chance = base.transform_filter("datum.inside").mark_rect(color=MASKED)
    text = base.mark_text(fontSize=12).encode(text="text:N", color=alt.Color("ink:N", scale=None))
    # Omit an empty layer, because a screen reader would announce it as an unnamed image.
    layers = [cells, chance, text] if cells_table.inside.any() else [cells, text]
    return (
        layer_charts(*layers)
        .resolve_scale(color="independent")
        .add_params(row_names, column_names)
        .properties(height=150 + 40 * len(names), usermeta={"embedOptions": {"renderer": "svg"}})
    )
