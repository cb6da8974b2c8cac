"""Table of all heads, in which clicking a row opens the head."""

from collections.abc import Mapping

import pandas as pd

from pages.ui.components.bundle import component
from pages.ui.heads.kinds import HeadMaps, open_head
from transformer.values.trace import Kind

# Streamlit's own table lets users select either rows or cells. A row is selected only by a click in a narrow column of
# checkboxes. A cell is selected whenever it gets the focus, so keyboard users would open heads while moving through the
# table. This component avoids both problems.
draw_table = component("head_table/head_table")


def show_head_table(
    table: pd.DataFrame, kinds: list[Kind], key: str, maps: HeadMaps, headings: Mapping[str, tuple[str, str]]
) -> None:
    """Show a table of heads, and open the head whose row the user clicked.

    Args:
        table: one row per head, with the columns kind, layer and head (1-based), then numbers and texts.
        kinds: the attention kind of each row's head.
        key: the key of the component.
        maps: the pages that show the model's attention maps.
        headings: two-level column headings, by column name: the measurement and the statistic.
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
