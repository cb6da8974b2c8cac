"""Builds and shows tables, mostly of the values in a figure."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.token_labels import displayable
from pages.ui.charts.downloads import csv_text, save_button
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import formatted, typeset, with_minus

# Text of a masked cell. A column with a masked cell is a text column.
MASKED = "masked"
MINUS_INFINITY = "−∞"
# Maximum number of columns that fit on a projector.
MAX_COLUMNS = 7
# A table uses up to MAX_DIGITS decimal places, so that small numbers do not look like 0. Numbers that would still
# look like 0 are shown in scientific notation. In a table with more than MAX_TYPESET cells, one such number puts its
# whole column into scientific notation.
MAX_DIGITS = 8
SCIENTIFIC_DIGITS = 4
# Maximum number of cells in a table with true minus signs; formatting a larger table cell by cell would be slow.
MAX_TYPESET = 20_000
# Sizes of wrapped text in pixels: width of a character, height of a line, padding, and minimum height of a row in which
# Streamlit wraps text. MAX_LINES is the maximum number of lines in a row.
CHARACTER, LINE, LINE_MARGIN, MIN_WRAPPED_HEIGHT = 6.5, 20, 16, 66
MAX_LINES = 8
TEXT_CELLS = [MASKED, MINUS_INFINITY, ""]


def numbered_labels(labels: Sequence[str]) -> list[str]:
    """Prefix each label with a 1-based number, which makes labels unique."""
    return [f"{number}: {label}" for number, label in enumerate(labels, start=1)]


def frame(
    values: np.ndarray,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    *,
    corner: str,
    first: tuple[int, int] = (0, 0),
) -> pd.DataFrame:
    """Return a matrix as a table with labels for rows and columns.

    Args:
        values: the matrix, [R, C]; non-finite values are shown as masked.
        rows, columns: the labels; None to number the rows or columns.
        corner: the heading of the column with the row labels.
        first: the numbers of the first row and the first column; ignored for an axis with labels.
    """
    body = (
        values
        if np.isfinite(values).all()
        else [[formatted(value, 6) if np.isfinite(value) else MASKED for value in row] for row in values]
    )
    names = (
        [str(first[1] + column) for column in range(values.shape[1])] if columns is None else numbered_labels(columns)
    )
    table = pd.DataFrame(body, columns=names)
    table.insert(0, corner, range(first[0], first[0] + len(values)) if rows is None else numbered_labels(rows))
    return table


def show_numbers(
    table: pd.DataFrame, key: str, *, label: str = "The numbers", digits: int = 6, opened: bool = False
) -> None:
    """Show a table in an expander. The table is rendered only while the expander is open.

    Args:
        table: the table.
        key: the key of the table, and the prefix of the expander's key.
        label: the label of the expander.
        digits: decimal places of floating-point numbers.
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
    """Show a table that users can sort by numeric value. Tables of up to MAX_TYPESET cells show true minus signs.

    Saved files use a hyphen as the minus sign, so that programs can read the numbers.

    Args:
        table: the table.
        key: the key of the table.
        digits: decimal places of floating-point numbers.
        height: the height in pixels, or "auto".
        wrapped: the width in pixels of each text column that wraps, by name.
    """
    columns: dict[str, Any] = {}
    typeset_columns: dict[str, Callable[[Any], str]] = {}
    digits = _digits(table, digits)
    if len(table.columns) > MAX_COLUMNS:
        # Keep the row labels visible while the other columns scroll.
        columns[table.columns[0]] = st.column_config.Column(pinned=True)
    for name, column in list(table.items())[1:]:
        tiny = column.dtype.kind == "f" and _smallest(column) < 0.5 * 10**-digits
        if column.dtype.kind == "f":
            form = f".{SCIENTIFIC_DIGITS}e" if tiny else f".{digits}f"
        elif column.dtype.kind == "i":
            form = ",d"
        elif name in (wrapped or ()):
            # This column contains text typed by the user, which stays text even if it looks like a number.
            continue
        elif pd.Series(pd.to_numeric(column.replace(TEXT_CELLS, 0), errors="coerce")).notna().all():
            columns[str(name)] = st.column_config.TextColumn(alignment="right")
            typeset_columns[str(name)] = _format_cell
            continue
        else:
            continue
        if table.size <= MAX_TYPESET and (tiny or (column < 0).any()):
            # Format each number separately: one format for the whole column could show −0, or 9.9558e−01 beside a
            # tiny number.
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
    """Show a table and a button that saves it as CSV. The app calls `st.dataframe` only in this function.

    Cells that are copied from a table, or saved by Streamlit's own button, could contain text that a spreadsheet runs
    as a formula. `client.disableDataExport` disables copying and Streamlit's button. The button shown here escapes
    formulas in the saved file. On screen, `displayable` replaces characters that would reverse text.

    Args:
        table: the table to save, and to show unless `shown` is given.
        key: the key of the table, and the prefix of the button's key.
        shown: a styled version of the table to show.
        width: "stretch", or "content" for the width of the content.
        file: the file name without extension; derived from the key if empty.
        options: further options for `st.dataframe`.
    """
    with st.container(gap="xxsmall", width=width):
        st.dataframe(visible_cells(table) if shown is None else shown, key=key, hide_index=True, width=width, **options)
        save_button(
            "Save as CSV",
            lambda: csv_text(table),
            f"{file or key.replace('_', '-')}.csv",
            type="tertiary",
            key=f"{key}_csv",
            help="Saves the table above.",
        )


def visible_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a copy of a table in which `displayable` has made all text safe to display."""
    cells = table.copy()
    texts = table.select_dtypes(exclude=["number", "bool"])
    cells[texts.columns] = texts.map(lambda cell: displayable(cell) if isinstance(cell, str) else cell)
    return cells


def _format_cell(cell: object) -> str:
    return with_minus(str(cell))


def show_large_table(table: pd.DataFrame, *, digits: int = 6) -> None:
    """Show a table for lecture mode. Its cells are Markdown, so that their font can be enlarged.

    Args:
        table: the table.
        digits: decimal places of floating-point numbers.
    """
    digits = _digits(table, digits)
    columns = {markdown(str(name)): [_large_cell(value, digits) for value in column] for name, column in table.items()}
    st.table(pd.DataFrame(columns), border="horizontal", hide_index=True)


def _large_cell(value: object, digits: int) -> str:
    """Return a cell's value as Markdown; empty for NaN and infinity."""
    if not isinstance(value, float):
        return markdown(str(value))
    return typeset(value, digits) if np.isfinite(value) else ""


def _row_height(table: pd.DataFrame, wrapped: Mapping[str, int]) -> int:
    """Return the row height in pixels for the longest text, up to `MAX_LINES` lines.

    Streamlit does not wrap text in rows with a height below `MIN_WRAPPED_HEIGHT`.
    """
    lines = max(math.ceil(len(text) * CHARACTER / width) for name, width in wrapped.items() for text in table[name])
    return max(MIN_WRAPPED_HEIGHT, LINE * min(lines, MAX_LINES) + LINE_MARGIN)


def _digits(table: pd.DataFrame, digits: int) -> int:
    """Return the number of decimal places: `digits`, or up to `MAX_DIGITS` if the smallest number needs more."""
    smallest = min(
        (_smallest(column) for _, column in list(table.items())[1:] if column.dtype.kind == "f"), default=np.inf
    )
    return next((more for more in range(digits, MAX_DIGITS + 1) if smallest >= 0.5 * 10**-more), digits)


def _smallest(column: pd.Series) -> float:
    """Return the smallest positive number in a column; infinity if there is none, or if a number is negative."""
    numbers = column.to_numpy()
    sizes = numbers[(numbers != 0) & ~np.isnan(numbers)]
    return float(sizes.min()) if len(sizes) and sizes.min() > 0 else np.inf
