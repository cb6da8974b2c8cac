"""Tests that saved tables keep every number and contain no text that a spreadsheet would run as a formula."""

import csv
import io

import pandas as pd
import pytest

from pages.ui.charts.downloads import csv_text
from transformer.files.csv_cells import escaped

FORMULAS = [
    "=1+2",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    '=HYPERLINK("http://x")',
    "\tx",
    "\rx",
    "-",
    "+49 30",
    "＝1+1",
]
NUMBERS = ["-0.25", "+1.5e-07", "12", "-3", ".5"]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_text_is_never_a_formula(text):
    header, row = cells(csv_text(pd.DataFrame({"token": [text], text: [1]}), {"sentence": text}))
    assert header == ["token", f"'{text}", "sentence"] and row == [f"'{text}", "1", f"'{text}"]


def test_very_long_csv_text_is_never_a_formula():
    text = "+" + "1" * 500_000 + "x"
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize(
    "text", ["Hi{}=1+1", 'Hi{}"=1+1"', "Hi{} =1+1, and", "{}=1+1", "a\n=1+1", "a\r\n=1+1", "a{}-2+3{}@SUM(A1)"]
)
def test_csv_text_is_never_a_formula_if_another_list_separator_is_used(separator, text):
    text = text.format(separator, separator)
    saved = csv_text(pd.DataFrame({"token": ["x"], "text": [text]}), {"sentence": text})
    for row in csv.reader(io.StringIO(saved, newline=""), delimiter=separator):
        assert not any(cell.lstrip(' "').startswith(("=", "-", "@")) for cell in row)
    _, row = cells(saved)
    assert [cell.replace("'", "") for cell in row] == ["x", text, text], "as typed, but for the apostrophes"


@pytest.mark.parametrize("text", ["Hi; there", "a\r\nb", "a\tb", "; ;", "Hund", "a=b", "␣-", "−∞", "masked", "1-2", ""])
def test_harmless_text_in_a_csv_file_is_unchanged(text):
    assert escaped(text) == text


def test_csv_numbers_are_unchanged():
    table = pd.DataFrame({"value": [-0.25, 1e-7], "written": NUMBERS[:2], "kept": [True, False]})
    assert cells(csv_text(table))[1:] == [["-0.25", "-0.25", "True"], ["1e-07", "+1.5e-07", "False"]]
    assert [escaped(text) for text in NUMBERS] == NUMBERS


def test_missing_value_is_an_empty_csv_cell():
    assert cells(csv_text(pd.DataFrame({"a": ["x", None], "b": [float("nan"), 1.0]}))) == [
        ["a", "b"],
        ["x", ""],
        ["", "1.0"],
    ]
