"""Table of all heads; a click on a row opens the head."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pages.ui.components.bundle import component
from pages.ui.heads.kinds import HeadMaps, open_head
from transformer.values.trace import Kind

# In Streamlit's own table, only a narrow column of boxes reacts to clicks, or else every move of the focus does. The
# latter would keep keyboard users from reading it.
draw_table = component("head_table/head_table")


def show_head_table(
    table: pd.DataFrame, kinds: list[Kind], key: str, maps: HeadMaps, headings: Mapping[str, tuple[str, str]]
) -> None:
    """Draw the table, and open the head whose row was clicked.

    Args:
        table: one row per head: kind, layer and head, from 1, followed by numbers and texts.
        kinds: the kind of attention of each row's head.
        key: the key of the component.
        maps: the pages that open heads.
        headings: for columns that are parts of one measurement, the names of the measurement and of the part.
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
