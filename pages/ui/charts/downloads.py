"""Shows buttons that save tables (CSV, JSON) and traces (NPZ), and expanders with Python code."""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui.text.python_lines import FROM_ZERO
from transformer.files.csv_cells import escaped
from transformer.values.trace import Trace

MEDIA = {"csv": "text/csv", "html": "text/html", "json": "application/json", "npz": "application/octet-stream"}


def save_button(label: str, content: Callable[[], str | bytes], file: str, **options: Any) -> None:
    """Show a button that downloads a file.

    Args:
        label: the label of the button.
        content: returns the content of the file; called when the user clicks the button.
        file: the file name, whose extension is a key of `MEDIA`.
        options: further options for `st.download_button`.
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
    extra_facts: Mapping[str, Any] = MappingProxyType({}),
) -> DeltaGenerator:
    """Show buttons that save tables as CSV and JSON; return the buttons' container, so that the caller can add buttons.

    Args:
        name: the file name without extension.
        key: the prefix of the buttons' keys.
        facts: everything that is needed to reproduce the numbers; every CSV row contains all facts.
        tables: the tables, by name in the JSON file.
        rows: the table for the CSV file; None for the first of `tables`.
        extra_facts: more facts, for the JSON file only.
    """
    saved = next(iter(tables.values())) if rows is None else rows
    files = {"csv": csv_text(saved, facts), "json": json_text({**facts, **extra_facts}, tables)}
    row = st.container(horizontal=True)
    with row:
        for kind, content in files.items():
            save_button(
                f"Save as {kind.upper()}", lambda content=content: content, f"{name}.{kind}", key=f"{key}_{kind}_{name}"
            )
    return row


def show_lines(lines: str, key: str) -> None:
    """Show Python code in an expander. It is rendered only while the expander is open, because highlighting is slow.

    Args:
        lines: the Python code.
        key: the prefix of the expander's key.
    """
    part = st.expander("Reproduce in Python", key=f"{key}_lines", on_change="rerun")
    if part.open:
        with part:
            st.code(lines, language="python", wrap_lines=True)
            st.caption(FROM_ZERO)


def save_trace(trace: Callable[[], Trace], key: str) -> None:
    """Show a button that saves a trace as an NPZ file.

    Args:
        trace: returns the trace; called when the user clicks the button. Streamlit keeps this function for the whole
            session, so the function must not keep a trace in memory.
        key: the prefix of the button's key.
    """
    save_button(
        "Save as NPZ (every head)",
        lambda: npz_bytes(trace().to_npz),
        "trace.npz",
        key=f"{key}_npz",
        help="Saves everything that the model computed in this run, as numpy arrays, with the model's version and your "
        "changes. Load the file with `numpy.load` or `Trace.from_npz`.",
    )


def npz_bytes(write: Callable[[BytesIO], None]) -> bytes:
    """Return the bytes that `write` writes to a file.

    Args:
        write: writes to a binary file, for example `Trace.to_npz`.
    """
    file = BytesIO()
    write(file)
    return file.getvalue()


def csv_text(table: pd.DataFrame, facts: dict[str, Any] | None = None) -> str:
    """Return a table as CSV, with all facts in every row. Text that a spreadsheet would run as a formula is escaped."""
    rows = table.copy()
    for name, value in (facts or {}).items():
        rows[name] = value if isinstance(value, str | bool) else json.dumps(value)
    texts = rows.select_dtypes(exclude=["number", "bool"])
    rows[texts.columns] = texts.map(escaped)
    # CRLF line endings (RFC 4180) make pandas quote every cell that contains a carriage return or a line feed.
    return rows.rename(columns=escaped).to_csv(index=False, lineterminator="\r\n")


def json_text(facts: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> str:
    """Return facts and tables as one JSON object; NaN and infinity become null."""
    content = {**facts, **{name: json.loads(each.to_json(orient="records") or "[]") for name, each in tables.items()}}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
