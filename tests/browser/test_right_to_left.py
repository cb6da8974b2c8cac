"""Tests of an attention map with Arabic text in its labels: text direction, label alignment and arrows."""

import pytest

from tests.browser.component import SVG, labels
from tests.foreign_models import arabic_model
from transformer.running.translator import Translator

ISOLATES = dict.fromkeys(map(ord, "\u2066\u2068\u2069"))


@pytest.fixture(scope="module")
def translator(tmp_path_factory) -> Translator:
    return Translator.load(arabic_model(tmp_path_factory.mktemp("right_to_left") / "ar-ar", reads="ar"), "cpu")


def test_right_to_left_labels_are_next_to_their_cells(browse, translator):
    trace = translator.trace("الرجل العجوز يقرأ.", "لدي حلم.")
    with browse(translator, trace, "cross") as shown:
        drawn = {text.text.translate(ISOLATES): text for text in shown.svg().iter(f"{SVG}text")}
    rows, columns = labels(trace, "cross")
    assert {*rows, *columns} <= set(drawn)
    arabic = [column for column in columns[:-1] if any(map(str.isalpha, column))]
    assert len(arabic) > 5
    for column in arabic:
        # A column label's left edge touches its cell. Right-to-left text ends at its left edge, so the anchor is "end".
        assert (drawn[column].get("direction"), drawn[column].get("text-anchor")) == ("rtl", "end"), column
    assert drawn[columns[-1]].get("direction") is None, "the end symbol is Latin"
    assert {drawn[row].get("text-anchor") for row in rows} == {"end"}
    assert {drawn[row].get("direction") for row in rows} == {None}, "“in: … → out: …” is left to right, like its arrow"
