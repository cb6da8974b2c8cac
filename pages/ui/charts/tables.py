"""Builds and draws the tables with a figure's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import visible
from pages.ui.charts.saving import csv_text
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import formatted, typeset, with_minus

# Text of a masked cell; it turns the column into text.
MASKED = "masked"
MINUS_INFINITY = "−∞"
# The number of columns that fit on a projector.
MAX_COLUMNS = 7
# A table has as many decimals as its smallest number needs to differ from 0, up to MAX_DIGITS. Smaller numbers are
# written with powers of ten; in a large table, so is their whole column.
MAX_DIGITS = 8
SCIENTIFIC_DIGITS = 4
# Tables with up to this many cells use a true minus sign, which takes no noticeable time. Larger tables use hyphens.
MAX_TYPESET = 20_000
# Sizes in pixels of text that wraps in a cell, and the maximum number of lines in a row.
CHARACTER, LINE, AROUND_LINES, LOWEST_WRAPPED = 6.5, 20, 16, 66
MAX_LINES = 8
NOT_NUMBERS = [MASKED, MINUS_INFINITY, ""]


def numbered(labels: Sequence[str]) -> list[str]:
    """Make labels unique by numbering them from 1, as in the figures of tokens."""
    return [f"{number}: {label}" for number, label in enumerate(labels, start=1)]


def frame(
    values: np.ndarray,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    *,
    corner: str,
    first: tuple[int, int] = (0, 0),
) -> pd.DataFrame:
    """Return a matrix as a table with its labels.

    Args:
        values: [R, C]; values that are not finite are shown as masked.
        rows, columns: the labels; if None, rows or columns are numbered.
        corner: the heading of the column that names the rows.
        first: the numbers of the first row and the first column, used if they have no labels.
    """
    body = (
        values
        if np.isfinite(values).all()
        else [[formatted(value, 6) if np.isfinite(value) else MASKED for value in row] for row in values]
    )
    names = [str(first[1] + column) for column in range(values.shape[1])] if columns is None else numbered(columns)
    table = pd.DataFrame(body, columns=names)
    table.insert(0, corner, range(first[0], first[0] + len(values)) if rows is None else numbered(rows))
    return table


def show_numbers(
    table: pd.DataFrame, key: str, *, label: str = "The numbers", digits: int = 6, opened: bool = False
) -> None:
    """Draw a table in an expander, but only while it is open.

    Args:
        table: its numbers are shown with `digits` decimals, and whole numbers unchanged.
        key: the key of the table; with the suffix "_part", that of the expander.
        label: the label of the expander.
        opened: whether the expander is open at first.
    """
    part = st.expander(label, opened, key=f"{key}_part", on_change="rerun")
    if part.open:
        with part:
            show_table(table, key, digits=digits)


def show_table(
    table: pd.DataFrame,
    key: str,
    *,
    digits: int = 6,
    height: int | Literal["auto"] = "auto",
    wrapped: Mapping[str, int] | None = None,
) -> None:
    """Draw a table with its text unchanged and its numbers with a true minus sign.

    Sorting and saving use the numbers themselves; saved files have the hyphen that programs can read.

    Args:
        digits: decimals of its numbers.
        wrapped: columns of text that wrap, and their widths in pixels.
    """
    columns: dict[str, Any] = {}
    typeset_columns: dict[str, Callable[[Any], str]] = {}
    digits = _digits(table, digits)
    if len(table.columns) > MAX_COLUMNS:
        # The column that names the rows stays visible while the other columns scroll.
        columns[table.columns[0]] = st.column_config.Column(pinned=True)
    for name, column in list(table.items())[1:]:
        tiny = column.dtype.kind == "f" and _smallest(column) < 0.5 * 10**-digits
        if column.dtype.kind == "f":
            form = f".{SCIENTIFIC_DIGITS}e" if tiny else f".{digits}f"
        elif column.dtype.kind == "i":
            form = ",d"
        elif name in (wrapped or ()):
            # This column is the user's text, even if it looks like a number.
            continue
        elif pd.Series(pd.to_numeric(column.replace(NOT_NUMBERS, 0), errors="coerce")).notna().all():
            columns[str(name)] = st.column_config.TextColumn(alignment="right")
            typeset_columns[str(name)] = _written
            continue
        else:
            continue
        if table.size <= MAX_TYPESET and (tiny or (column < 0).any()):
            # Only numbers that need a power of ten are written with one. This avoids −0, and 9.9558e−01 in a column
            # with a tiny number.
            typeset_columns[str(name)] = partial(typeset, form=digits if column.dtype.kind == "f" else form)
            columns[str(name)] = st.column_config.NumberColumn()
        else:
            columns[str(name)] = st.column_config.NumberColumn(format=f"%{form}")
    columns |= {name: st.column_config.TextColumn(width=width) for name, width in (wrapped or {}).items()}
    shown: Any = visible_cells(table)
    if typeset_columns and table.size <= MAX_TYPESET:
        shown = shown.style.format(typeset_columns, na_rep="")
    draw_table(
        table,
        key,
        shown=shown,
        height="content" if wrapped else height,
        column_config=columns,
        placeholder="",
        row_height=_row_height(table, wrapped) if wrapped else None,
    )


def draw_table(
    table: pd.DataFrame,
    key: str,
    *,
    shown: object = None,
    width: Literal["stretch", "content"] = "stretch",
    file: str = "",
    **options: Any,
) -> None:
    """Draw a table and the button that saves it; all tables of the app are drawn by this function.

    With Streamlit's own button, or by copying cells, text that begins like a formula would be run by a spreadsheet.
    `client.disableDataExport` removes both. The cells on screen have no apostrophe, and a saved file has every
    character as it was typed.

    Args:
        key: the key of the table; with the suffix "_csv", that of the button.
        shown: a styled version of the table that is drawn instead of it.
        file: the name of the saved file, if it differs from the key.
        options: further options of `st.dataframe`.
    """
    with st.container(gap="xxsmall", width=width):
        st.dataframe(visible_cells(table) if shown is None else shown, key=key, hide_index=True, width=width, **options)
        st.download_button(
            "Save as CSV",
            lambda: csv_text(table),
            f"{file or key.replace('_', '-')}.csv",
            "text/csv",
            type="tertiary",
            icon=":material/download:",
            on_click="ignore",
            key=f"{key}_csv",
            help="The table above.",
        )


def visible_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every text in the form in which users see it."""
    written = table.copy()
    texts = table.select_dtypes(exclude=["number", "bool"])
    written[texts.columns] = texts.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    return written


def _written(cell: object) -> str:
    """Format a number as the text that a column shows."""
    return with_minus(str(cell))


def show_large_table(table: pd.DataFrame, *, digits: int = 6) -> None:
    """Draw a table as Markdown, whose type can be enlarged; `show_table` draws small type.

    Args:
        digits: decimals of its numbers.
    """
    digits = _digits(table, digits)
    shown = {markdown(str(name)): [_large(value, digits) for value in column] for name, column in table.items()}
    st.table(pd.DataFrame(shown), border="horizontal", hide_index=True)


def _large(value: object, digits: int) -> str:
    """Return Markdown for a cell of a large table."""
    if not isinstance(value, float):
        return markdown(str(value))
    return typeset(value, digits) if np.isfinite(value) else ""


def _row_height(table: pd.DataFrame, wrapped: Mapping[str, int]) -> int:
    """Return the height in pixels of the tallest cell; in rows below `LOWEST_WRAPPED`, Streamlit does not wrap text."""
    lines = max(math.ceil(len(text) * CHARACTER / width) for name, width in wrapped.items() for text in table[name])
    return max(LOWEST_WRAPPED, LINE * min(lines, MAX_LINES) + AROUND_LINES)


def _digits(table: pd.DataFrame, digits: int) -> int:
    """Return the number of decimals: `digits`, or as many as the smallest number needs, up to `MAX_DIGITS`."""
    smallest = min(
        (_smallest(column) for _, column in list(table.items())[1:] if column.dtype.kind == "f"), default=np.inf
    )
    return next((more for more in range(digits, MAX_DIGITS + 1) if smallest >= 0.5 * 10**-more), digits)


def _smallest(column: pd.Series) -> float:
    """Return the smallest positive number of a column; infinity if the column has negative numbers or only zeros."""
    numbers = column.to_numpy()
    sizes = numbers[(numbers != 0) & ~np.isnan(numbers)]
    return float(sizes.min()) if len(sizes) and sizes.min() > 0 else np.inf
