"""Tests that numbers in a table have the same number of decimal places, and that tables are drawn only on request."""

import json

import pandas as pd
import pytest

from tests.ui.driver import GIVEN, expand, healthy, opened, written
from tests.ui.page_checks import problems

TEXT = "The old man gave his dog a bone."


@pytest.mark.thorough
def test_table_of_resampling_draws_has_uniform_decimals():
    """Covers a table that tests/ui/test_every_page.py does not open."""
    test = opened("pages/switch_heads_off.py", text=TEXT, off_heads="cross.6.5", off_mode="resample")
    assert healthy(test)
    for node in expand(test).dataframe:
        columns = ", ".join(map(str, node.value.columns))
        assert not problems(node.value, json.loads(node.proto.columns or "{}"), written(node)), columns


@pytest.mark.parametrize(
    "page",
    [
        "cross_attention",
        *(pytest.param(page, marks=pytest.mark.thorough) for page in ("what_mattered", "language_model")),
    ],
)
def test_table_with_the_numbers_of_a_figure_is_shown_on_demand(narrow_app, page):
    test = opened(f"pages/{page}.py", text=TEXT, **GIVEN)
    before = [len(test.dataframe), len(test.code)]
    expand(test)
    assert healthy(test) and len(test.dataframe) > before[0]
    assert (page == "what_mattered") == (len(test.code) == before[1])
    test.run()
    assert len(test.dataframe) > before[0], "they stay"


def test_table_check_finds_inconsistent_decimal_places_and_zero_based_numbers():
    table = pd.DataFrame({"step": [0, 1], "layer": [1, 2], "weight": [0.5, 0.25], "norm": [1.5, 2.0]})

    def config(**forms):
        return {name: {"type_config": {"format": form}} for name, form in forms.items()}

    assert problems(table, config(weight="%.4f", norm="%.4f")) == []
    assert problems(table, config(weight="%.4f", norm="%.2f")) == ["[2, 4] decimals"]
    assert problems(table, config(norm="%.2f")) == ["each number of weight has as many decimals as it needs"]
    assert problems(table.astype({"weight": str}), config(norm="%.2f")) == ["[1, 2] decimals"]
    assert problems(table.assign(layer=[0, 1]), config(weight="%.4f", norm="%.4f")) == ["layer counts from 0"]
