"""The table that says the same as a figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from pages.ui.written import written

# What stands where a cell is masked, in a column that is text for it.
MASKED = "masked"
MINUS_INFINITY = "−∞"
# Up to so many columns of numbers stand beside each other on a projector.
MOST_COLUMNS = 7
NOT_NUMBERS = [MASKED, MINUS_INFINITY, ""]


def numbered(labels: Sequence[str]) -> list[str]:
    """Labels that differ even where two pieces are equal; counted from 1, as in the figures of pieces."""
    return [f"{number}: {label}" for number, label in enumerate(labels, start=1)]


def frame(
    values: np.ndarray, rows: Sequence[str] | None, columns: Sequence[str] | None, *, corner: str
) -> pd.DataFrame:
    """A matrix with its labels.

    Args:
        values: [R, C]; what is not finite is said to be masked.
        rows, columns: labels; None numbers them from 0.
        corner: what the rows are.
    """
    body = values if np.isfinite(values).all() else [
        [written(value, 6) if np.isfinite(value) else MASKED for value in row] for row in values
    ]
    names = [str(column) for column in range(values.shape[1])] if columns is None else numbered(columns)
    table = pd.DataFrame(body, columns=names)
    table.insert(0, corner, range(len(values)) if rows is None else numbered(rows))
    return table


def show_numbers(table: pd.DataFrame, key: str, *, label: str = "The numbers", digits: int = 6) -> None:
    """Draw a table in an expander.

    Args:
        table: its numbers are shown with `digits` decimals, whole ones as they are.
        key: of the table.
        label: of the expander.
    """
    with st.expander(label):
        show_table(table, key, digits=digits)


def show_table(table: pd.DataFrame, key: str, *, digits: int = 6, height: int | str = "auto") -> None:
    """Draw a table; its text is shown as it is."""
    columns: dict[str, object] = {}
    if len(table.columns) > MOST_COLUMNS:
        # What names the rows stays when the others are scrolled.
        columns[table.columns[0]] = st.column_config.Column(pinned=True)
    for name in table.columns[1:]:
        if table[name].dtype.kind == "f":
            columns[name] = st.column_config.NumberColumn(format=_form(table[name], digits))
        elif pd.to_numeric(table[name].replace(NOT_NUMBERS, 0), errors="coerce").notna().all():
            columns[name] = st.column_config.TextColumn(alignment="right")
    st.dataframe(table, key=key, hide_index=True, height=height, column_config=columns, placeholder="")


def _form(column: pd.Series, digits: int) -> str:
    """How the numbers of a column are written.

    Weights and norms are never negative, and one too small for the decimals is still told from 0.
    """
    sizes = column[column != 0].dropna()
    small = (sizes > 0).all() and (sizes < 0.5 * 10**-digits).any()
    return f"%.{digits}g" if small else f"%.{digits}f"
