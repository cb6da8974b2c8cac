"""Exports tables with their settings as CSV, JSON and lines of Python, and all values of a run as NPZ."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.text.python_lines import FROM_ZERO
from transformer.files.csv_cells import harmless
from transformer.values.trace import Trace

MEDIA = {"csv": "text/csv", "html": "text/html", "json": "application/json", "npz": "application/octet-stream"}


def save_button(label: str, content: Callable[[], str | bytes], file: str, **options: Any) -> None:
    """Draw a button that saves a file.

    Args:
        content: returns the content of the file, once the user presses the button.
        file: the name of the file, whose ending is a key of `MEDIA`.
        options: further options of `st.download_button`.
    """
    options = {"icon": ":material/download:", **options}
    st.download_button(label, content, file, MEDIA[file.rpartition(".")[2]], on_click="ignore", **options)


def save_tables(
    name: str,
    key: str,
    facts: dict[str, Any],
    tables: Mapping[str, pd.DataFrame],
    *,
    rows: pd.DataFrame | None = None,
    noted: Mapping[str, Any] = MappingProxyType({}),
) -> DeltaGenerator:
    """Draw the buttons that save tables; return the row that holds them, to which more buttons can be added.

    Args:
        name: the name of the files.
        key: the prefix of the buttons' keys.
        facts: everything that is needed to compute the numbers again; every CSV row includes it.
        tables: the tables by their names in the JSON.
        rows: the rows of the CSV; None for those of the first table.
        noted: facts that only the JSON includes.
    """
    saved = next(iter(tables.values())) if rows is None else rows
    files = {"csv": csv_text(saved, facts), "json": json_text({**facts, **noted}, tables)}
    row = st.container(horizontal=True)
    with row:
        for kind, content in files.items():
            save_button(
                f"Save as {kind.upper()}", lambda content=content: content, f"{name}.{kind}", key=f"{key}_{kind}_{name}"
            )
    return row


def show_lines(lines: str, key: str) -> None:
    """Draw lines of Python in an expander, but only once it is open, because syntax highlighting is slow.

    Args:
        key: the key of the expander, without its suffix "_lines".
    """
    part = st.expander("The same in Python", key=f"{key}_lines", on_change="rerun")
    if part.open:
        with part:
            st.code(lines, language="python", wrap_lines=True)
            st.caption(FROM_ZERO)


def save_every_head(trace: Callable[[], Trace], key: str) -> None:
    """Draw the button that saves a trace.

    Args:
        trace: returns the trace, once the user presses the button. A session keeps this callback until it expires, so
            it should not hold the trace itself.
        key: the key of the button, without its suffix "_npz".
    """
    save_button(
        "Save as NPZ (every head)",
        lambda: archive(trace().to_npz),
        "trace.npz",
        key=f"{key}_npz",
        help="Everything that this run computed, as numpy arrays, with the version of the model and what was changed: "
        "`numpy.load` reads it, and so does `Trace.from_npz`.",
    )


def archive(write: Callable[[BytesIO], None]) -> bytes:
    """Return the bytes of the .npz file that `write` writes, such as `Trace.to_npz`."""
    file = BytesIO()
    write(file)
    return file.getvalue()


def csv_text(table: pd.DataFrame, facts: dict[str, Any] | None = None) -> str:
    """Return a table as CSV, every row with all facts; text that a spreadsheet could run as a formula is escaped."""
    written = table.copy()
    for name, value in (facts or {}).items():
        written[name] = value if isinstance(value, str | bool) else json.dumps(value)
    texts = written.select_dtypes(exclude=["number", "bool"])
    written[texts.columns] = texts.map(harmless)
    # With CRLF as the line ending (RFC 4180), pandas quotes every cell that holds either character.
    return written.rename(columns=harmless).to_csv(index=False, lineterminator="\r\n")


def json_text(facts: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> str:
    """Return facts and tables as one JSON object, in which NaN and infinity are null."""
    content = {**facts, **{name: json.loads(each.to_json(orient="records") or "[]") for name, each in tables.items()}}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
