"""Tables with the numbers of a figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import streamlit as st

from attention_atlas.browser.piece_labels import visible
from pages.ui.charts.saving import csv_text
from pages.ui.text.markup import markdown
from pages.ui.text.number_format import formatted, typeset, with_minus

# Text of a masked cell; its column is text then.
MASKED = "masked"
MINUS_INFINITY = "−∞"
# A projector fits this many columns.
MOST_COLUMNS = 7
# A table has as many decimals as its smallest number needs to differ from 0, up to MOST_DIGITS. Smaller numbers use
# powers of ten; in a large table, their whole column does.
MOST_DIGITS = 8
SCIENTIFIC_DIGITS = 4
# A table with up to this many cells shows the mathematical minus sign, which takes no noticeable time. A larger one
# shows hyphens.
MOST_TYPESET = 20_000
# Sizes in pixels of text that wraps in a cell, and the largest number of lines in a row.
CHARACTER, LINE, AROUND_LINES, LOWEST_WRAPPED = 6.5, 20, 16, 66
MOST_LINES = 8
NOT_NUMBERS = [MASKED, MINUS_INFINITY, ""]


def numbered(labels: Sequence[str]) -> list[str]:
    """Return labels that differ even where two tokens are equal; counted from 1, as in the figures of tokens."""
    return [f"{number}: {label}" for number, label in enumerate(labels, start=1)]


def frame(
    values: np.ndarray,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    *,
    corner: str,
    first: tuple[int, int] = (0, 0),
) -> pd.DataFrame:
    """Return a matrix with its labels.

    Args:
        values: [R, C]; values that are not finite are called masked.
        rows, columns: labels; None numbers the rows or columns.
        corner: heading of the column that names the rows.
        first: numbers of the first row and of the first column where there are no labels.
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


def show_numbers(table: pd.DataFrame, key: str, *, label: str = "The numbers", digits: int = 6) -> None:
    """Draw a table in an expander once it is open.

    Args:
        table: its numbers are shown with `digits` decimals, and whole numbers unchanged.
        key: of the table; with "_part" after it, of the expander.
        label: of the expander.
    """
    part = st.expander(label, key=f"{key}_part", on_change="rerun")
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
    """Draw a table; its text is shown unchanged, its numbers with the mathematical minus sign.

    Sorting and saving use the numbers themselves, with the hyphen that programs read.

    Args:
        digits: decimals of its numbers.
        wrapped: columns of text that wrap, and their widths in pixels.
    """
    columns: dict[str, Any] = {}
    typeset_columns: dict[str, Callable[[Any], str]] = {}
    digits = _digits(table, digits)
    if len(table.columns) > MOST_COLUMNS:
        # The column that names the rows stays while the others scroll.
        columns[table.columns[0]] = st.column_config.Column(pinned=True)
    for name, column in list(table.items())[1:]:
        tiny = column.dtype.kind == "f" and _smallest(column) < 0.5 * 10**-digits
        if column.dtype.kind == "f":
            form = f".{SCIENTIFIC_DIGITS}e" if tiny else f".{digits}f"
        elif column.dtype.kind == "i":
            form = ",d"
        elif name in (wrapped or ()):
            # This is text from the user, even where it is a number.
            continue
        elif pd.Series(pd.to_numeric(column.replace(NOT_NUMBERS, 0), errors="coerce")).notna().all():
            columns[str(name)] = st.column_config.TextColumn(alignment="right")
            typeset_columns[str(name)] = _written
            continue
        else:
            continue
        if table.size <= MOST_TYPESET and (tiny or (column < 0).any()):
            # Numbers use a power only where they need one. This avoids 9.9558e−01 because another number is tiny, and
            # −0.
            typeset_columns[str(name)] = partial(typeset, form=digits if column.dtype.kind == "f" else form)
            columns[str(name)] = st.column_config.NumberColumn()
        else:
            columns[str(name)] = st.column_config.NumberColumn(format=f"%{form}")
    columns |= {name: st.column_config.TextColumn(width=width) for name, width in (wrapped or {}).items()}
    shown: Any = visible_cells(table)
    if typeset_columns and table.size <= MOST_TYPESET:
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
    """Draw a table with Streamlit's options, and the button that saves it; the app draws every table here.

    Streamlit's own button would save text that begins like a formula as a cell that a spreadsheet computes. Copying
    cells would do the same. `client.disableDataExport` removes both. The cells on screen have no apostrophe, and a
    saved file has every character as it was typed.

    Args:
        key: of the table; with "_csv" after it, of the button.
        shown: a styled version of the table to draw instead of it.
        file: name of the saved file, where the key is not enough.
        options: of `st.dataframe`.
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
    """Return the table with every text as it is shown."""
    written = table.copy()
    texts = table.select_dtypes(exclude=["number", "bool"])
    written[texts.columns] = texts.map(lambda cell: visible(cell) if isinstance(cell, str) else cell)
    return written


def _written(cell: object) -> str:
    """Return a number as the text that a column shows."""
    return with_minus(str(cell))


def show_large_table(table: pd.DataFrame, *, digits: int = 6) -> None:
    """Draw a table as text, which can be enlarged; `show_table` draws small type.

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
    """Return the height in pixels of the cell with the most lines; below `LOWEST_WRAPPED` Streamlit wraps no text."""
    lines = max(math.ceil(len(text) * CHARACTER / width) for name, width in wrapped.items() for text in table[name])
    return max(LOWEST_WRAPPED, LINE * min(lines, MOST_LINES) + AROUND_LINES)


def _digits(table: pd.DataFrame, digits: int) -> int:
    """Return the decimals of a table's numbers: `digits`, or as many as its smallest number needs, if not many more."""
    smallest = min(
        (_smallest(column) for _, column in list(table.items())[1:] if column.dtype.kind == "f"), default=np.inf
    )
    return next((more for more in range(digits, MOST_DIGITS + 1) if smallest >= 0.5 * 10**-more), digits)


def _smallest(column: pd.Series) -> float:
    """Return the smallest number but 0 of a column without negative ones, such as weights and norms; else infinity."""
    numbers = column.to_numpy()
    sizes = numbers[(numbers != 0) & ~np.isnan(numbers)]
    return float(sizes.min()) if len(sizes) and sizes.min() > 0 else np.inf
