"""Table of all heads; a click on a row opens the head."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pages.ui.components.bundle import component
from pages.ui.heads.kinds import HeadMaps, open_head
from transformer.values.trace import Kind

# Streamlit's own table reacts to a narrow column of boxes, or to any move of its focus. Users of a keyboard could not
# read it.
draw_table = component("head_table/head_table")


def show_head_table(
    table: pd.DataFrame, kinds: list[Kind], key: str, maps: HeadMaps, headings: Mapping[str, tuple[str, str]]
) -> None:
    """Draw the table, and open the head whose row was clicked.

    Args:
        table: a row per head; kind, layer and head, from 1, then its numbers and texts.
        kinds: of the heads of the rows.
        key: of the component.
        maps: where heads are opened.
        headings: of columns that are parts of one measurement: its name, and that of the part.
    """
    numbers = table.drop(columns=["kind", "layer", "head"])
    rows = [
        {
            "name": f"{kind}, layer {layer}, head {head}",
            "values": [None if pd.isna(value) else value for value in values],
        }
        for kind, layer, head, values in zip(
            table["kind"], table["layer"], table["head"], numbers.to_numpy(dtype=object).tolist(), strict=True
        )
    ]
    opened = draw_table(
        key=key,
        data={"columns": [headings.get(name, (name, "")) for name in numbers], "rows": rows},
        on_open_change=lambda: None,
        width="stretch",
    ).open
    if type(opened) is int and 0 <= opened < len(table):
        head = table.iloc[opened]
        open_head(kinds[opened], int(head["layer"]) - 1, int(head["head"]) - 1, maps)
