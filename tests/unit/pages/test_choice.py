from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from pages.ui.choice import FIRST, Choice

OTHER = Choice(
    layer=3, head=6, words=True, hide=True, scale="square root", palette="magma", look="lines", threshold=12,
    metric="entropy", rows=(0, 4), columns=(7,), shift=True,
)


def test_an_address_and_the_browser_give_a_choice_back():
    assert Choice.from_address(OTHER.to_address()) == OTHER
    assert Choice.from_browser(asdict(OTHER)) == OTHER
    assert FIRST.to_address() == {} and Choice.from_address({}) == FIRST


def test_people_count_from_one():
    assert Choice(layer=2).to_address() == {"layer": "3"}
    assert Choice.from_address({"layer": "1", "head": "8"}) == Choice(head=7)


RUBBISH = ["", "0x1", "-1", "1e9", "nan", "²", "9" * 400, "<b>", "١", "1.2", "....", "\x00"]


@pytest.mark.parametrize("value", RUBBISH)
def test_rubbish_in_an_address_is_as_at_first(value):
    parameters = dict.fromkeys(asdict(FIRST), value)
    parameters |= {"metric": "<b>", "rows": "1.x", "columns": value.replace("1.2", "1..2")}
    assert Choice.from_address(parameters) == FIRST


@pytest.mark.parametrize("value", [None, 3, "x", [], {"layer": -1}, {"layer": True}, {"layer": 1.5}, {"rows": [True]},
                                   {"rows": "12"}, {"scale": []}, {"threshold": 51}, {"metric": "a b"},
                                   {"columns": list(range(1001))}])
def test_rubbish_from_the_browser_is_as_at_first(value):
    assert Choice.from_browser(value) == FIRST


def test_a_choice_is_kept_to_what_a_model_has():
    assert Choice(layer=9, head=2).within(6, 8) == Choice(layer=5, head=2)


def test_only_what_there_is_stays_pinned():
    choice = Choice(layer=3, rows=(0, 9, 4), columns=(7, 1), words=True)
    assert choice.pinned_within(5, 7) == replace(choice, rows=(0, 4), columns=(1,))
    assert choice.pinned_within(99, 99) == choice
