"""What holds for every table that any page shows."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from pages.ui.params import backpropagation
from pages.ui.params import compare_heads as compare
from pages.ui.params import inside_a_layer as inside
from pages.ui.params import positional_encoding as positions
from pages.ui.params import what_mattered as mattered
from tests.ui.driver import expand, healthy, opened, written

# What people count, and so do the pages, from 1; dimensions, offsets and steps of training have numbers of their own.
COUNTED = {"position", "row", "column", "layer", "head", "draw", "piece"}
DECIMALS = re.compile(r"[+−-]?\d+\.(\d+)")
FORM = re.compile(r"%\+?\.(\d+)f")
TEXT = "The old man gave his dog a bone."

PLAIN = [
    ("cross_attention", {}), ("inside_a_layer", {"inside_part": "cell"}), ("inside_a_layer", {"inside_part": "mask"}),
    ("positional_encoding", {"positions_part": "distances"}), ("positional_encoding", {"positions_part": "sum"}),
    ("what_mattered", {}), ("switch_heads_off", {"off_mode": "resample"}),
]
PARTS = {
    "inside_a_layer": ("inside_part", inside.PARTS), "positional_encoding": ("positions_part", positions.PARTS),
    "backpropagation": ("backward_part", backpropagation.PARTS), "what_mattered": ("mattered_part", mattered.PARTS),
    "compare_heads": ("compare_part", compare.PARTS),
}
OTHERS = [(page, {name: part}) for page, (name, parts) in PARTS.items() for part in parts]
OTHERS += [(page, {}) for page in ("encoder_attention", "masked_attention", "decoding", "about", "training_lab")]


def problems(table, config, shown=None):
    """What is wrong with a table of a page; `config` is that of its columns, `shown` the texts of its cells."""
    shown = table if shown is None else shown
    found, decimals = [], set()
    for name, column in table.items():
        if column.dtype.kind == "f":
            form = config.get(str(name), {}).get("type_config", {}).get("format") or ""
            if decimal := FORM.fullmatch(form):
                decimals.add(int(decimal[1]))
            elif not form.endswith("e") and shown[name].dtype.kind == "f":
                found.append(f"each number of {name} has as many decimals as it needs")
        if shown[name].dtype.kind == "O":
            decimals |= {len(number[1]) for text in shown[name] if (number := DECIMALS.fullmatch(str(text)))}
        if str(name) in COUNTED and column.dtype.kind == "i" and len(column) and column.min() < 1:
            found.append(f"{name} counts from {column.min()}")
    return found + ([f"{sorted(decimals)} decimals"] if len(decimals) > 1 else [])


@pytest.mark.parametrize(
    ("page", "address"),
    [*PLAIN, *(pytest.param(*each, marks=pytest.mark.thorough) for each in OTHERS if each not in PLAIN)],
)
def test_decimals_do_not_differ_within_a_table_and_people_count_from_one(page, address):
    test = opened(f"pages/{page}.py", text=TEXT, **address)
    assert healthy(test)
    for node in expand(test).dataframe:
        columns = ", ".join(map(str, node.value.columns))
        assert not problems(node.value, json.loads(node.proto.columns or "{}"), written(node)), columns


@pytest.mark.parametrize("page", ["cross_attention", "what_mattered", "language_model"])
def test_the_numbers_of_a_figure_are_drawn_once_they_are_asked_for(page):
    test = opened(f"pages/{page}.py", text=TEXT)
    before = [len(test.dataframe), len(test.code)]
    expand(test)
    assert healthy(test) and len(test.dataframe) > before[0]
    assert (page == "what_mattered") == (len(test.code) == before[1])
    test.run()
    assert len(test.dataframe) > before[0], "they stay"


def test_tables_that_differ_are_found():
    table = pd.DataFrame({"step": [0, 1], "layer": [1, 2], "weight": [0.5, 0.25], "norm": [1.5, 2.0]})

    def config(**forms):
        return {name: {"type_config": {"format": form}} for name, form in forms.items()}

    assert problems(table, config(weight="%.4f", norm="%.4f")) == []
    assert problems(table, config(weight="%.4f", norm="%.2f")) == ["[2, 4] decimals"]
    assert problems(table, config(norm="%.2f")) == ["each number of weight has as many decimals as it needs"]
    assert problems(table.astype({"weight": str}), config(norm="%.2f")) == ["[1, 2] decimals"]
    assert problems(table.assign(layer=[0, 1]), config(weight="%.4f", norm="%.4f")) == ["layer counts from 0"]
