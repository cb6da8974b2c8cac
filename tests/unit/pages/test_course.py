from __future__ import annotations

from dataclasses import asdict

import pytest

from pages.ui.decoding.course import FIRST, Course
from transformer.road import Way
from transformer.tokenizer import END, PAD, START

OTHER = Course(
    step=4, show="mean", method="sample", size=7, alpha=1.25, temperature=0.5, top_k=40, top_p=0.95, seed=12,
    forced=(362, 786), never=(5, 290), node=3,
)


def test_an_address_and_the_browser_give_a_course_back():
    assert Course.from_address(OTHER.to_address()) == OTHER
    assert Course.from_browser(asdict(OTHER)) == OTHER
    assert FIRST.to_address() == {} and Course.from_address({}) == FIRST


def test_people_count_steps_from_one():
    assert Course(step=2).to_address() == {"step": "3"}
    assert Course.from_address({"step": "1"}) == FIRST == Course.from_address({"step": "0"})


def test_a_whole_number_of_the_browser_is_a_decimal_too():
    assert Course.from_browser({"temperature": 2, "alpha": 0}) == Course(temperature=2.0, alpha=0.0)
    assert Course.from_address(Course(alpha=1.0).to_address()) == Course(alpha=1.0)


@pytest.mark.parametrize("value", ["", "0x1", "-1", "1e9", "nan", "inf", "²", "9" * 400, "<b>", "١", "....", "\x00"])
def test_rubbish_in_an_address_is_as_at_first(value):
    assert Course.from_address(dict.fromkeys(asdict(FIRST), value)) == FIRST


@pytest.mark.parametrize("value", [
    None, 3, "x", [], {"step": -1}, {"step": True}, {"step": 1.5}, {"forced": [True]}, {"forced": "12"},
    {"never": [-1]}, {"method": []}, {"method": "beams"}, {"size": 0}, {"size": 11}, {"temperature": 0},
    {"temperature": float("nan")}, {"temperature": "1"}, {"top_p": 0}, {"top_p": 1.1}, {"alpha": 3.1},
    {"forced": [1] * 1001}, {"show": "none"},
])
def test_rubbish_from_the_browser_is_as_at_first(value):
    assert Course.from_browser(value) == FIRST


def test_only_pieces_that_can_be_written_are_forced():
    assert Course(forced=(7, 9)).within(8).forced == ()
    assert Course(forced=(7, PAD)).within(8).forced == Course(forced=(START,)).within(8).forced == ()
    assert Course(forced=(7, END, 6, PAD)).within(8).forced == (7, END), "nothing stands behind the end"
    assert Course(never=(9, 5, 5, 4)).within(8).never == (4, 5)


def test_settings_of_another_method_decode_nothing_again():
    assert Course(size=9, temperature=3.0).way == Way() == Course(seed=3).way
    assert Course(method="beam", size=9, seed=3).way == Way("beam", size=9)
    assert Course(method="sample", seed=3, alpha=2.0).way == Way("sample", seed=3)


def test_another_sentence_keeps_the_way_and_nothing_else():
    start = OTHER.from_the_start()
    assert (start.forced, start.never, start.step, start.node) == ((), (), 0, 0) and start.free
    assert start.way == OTHER.way and start.show == OTHER.show
