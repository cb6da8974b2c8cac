"""The table that says the same as a figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st


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
    body = values if np.isfinite(values).all() else np.where(
        np.isfinite(values), np.char.mod("%.6f", np.nan_to_num(values, neginf=0.0)), "masked"
    )
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
    decimals = [name for name in table.columns if table[name].dtype.kind == "f"]
    form = st.column_config.NumberColumn(format=f"%.{digits}f")
    st.dataframe(
        table, key=key, hide_index=True, height=height, column_config=dict.fromkeys(decimals, form), placeholder="",
    )
