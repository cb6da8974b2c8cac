"""The page of lessons, driven as a person would."""

from __future__ import annotations

import re

import pytest

from pages.ui.text.markup import markdown
from tests.ui.driver import EACH_RUBBISH, healthy, opened, texts
from transformer.lessons.lesson import read_lesson
from transformer.lessons.shelf import lesson_files

FILES = lesson_files()


def lessons(**address):
    named = {f"lesson_{key}": value for key, value in address.items()}
    return opened("pages/lessons.py", text="I have a dream.", **named)


def test_lists_every_lesson():
    test = lessons(done="one_row")
    assert healthy(test)
    for path in FILES.values():
        assert markdown(read_lesson(path).title) in texts(test)
    assert f"1 of {len(FILES)}" in texts(test)


# These compute more than all others together.
DEAR = ("what_a_head_is_worth", "decoding")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.thorough) if name in DEAR else name for name in FILES
])
def test_every_step_asks_and_then_tells(name):
    for number in range(1, len(read_lesson(FILES[name]).steps) + 1):
        test = lessons(id=name, step=str(number))
        assert healthy(test), name
        if test.button(key="lesson_next").disabled:
            test.button(key="lesson_show").click().run()
            assert healthy(test), name
        assert not test.button(key="lesson_next").disabled


def test_a_lesson_from_start_to_end():
    test = lessons()
    test.button(key="lesson_open_one_row").click().run()
    assert "1 of 4" in texts(test) and test.button(key="lesson_next").disabled
    test.button(key="lesson_show").click().run()
    test.button(key="lesson_next").click().run()
    test.number_input(key="lesson_number").set_value(1.0)
    next(button for button in test.button if button.label == "Measure").click().run()
    assert "You said 1." in texts(test) and test.query_params["lesson_answer"] == "1"
    test.button(key="lesson_next").click().run()
    test.button(key="lesson_choice_1").click().run()
    assert "Right." in texts(test) or "You said" in texts(test)
    test.button(key="lesson_next").click().run()
    test.button(key="lesson_show").click().run()
    assert test.query_params["lesson_done"] == "one_row", "done, whichever way it is left by"
    following = test.button(key="lesson_next")
    assert following.label == r"Next lesson: Query\, key\, value" and following.proto.shortcut == "pagedown"
    following.click().run()
    assert r"Query\, key\, value · 1 of" in texts(test) and healthy(test)
    next(button for button in test.button if button.label == "All lessons").click().run()
    assert f"1 of {len(FILES)}" in texts(test) and test.query_params["lesson_done"] == "one_row"
    assert test.query_params["text"] == "I have a dream.", "the reader's own sentence stays"


def test_the_last_lesson_leads_back_to_the_list():
    test = lessons(id=list(FILES)[-1], step="7", answer="shown")
    assert test.button(key="lesson_next").label == "Back to all lessons"
    test.button(key="lesson_next").click().run()
    assert f"1 of {len(FILES)}" in texts(test) and healthy(test)


@pytest.mark.parametrize("value", EACH_RUBBISH)
def test_rubbish_in_the_address(value):
    assert healthy(lessons(id=value, step=value, answer=value, done=value))
    assert healthy(lessons(id="one_row", step=value, answer=value))


def test_a_teachers_lesson(tmp_path, monkeypatch):
    """One that is wrong is named; one with markup in it is shown as it is typed."""
    text = FILES["one_row"].read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace('title = "One row of a map"', 'title = "<b>:red[Mine]</b> $x$"'), encoding="utf-8")
    (tmp_path / "broken.toml").write_text("title = 1", encoding="utf-8")
    monkeypatch.setattr("transformer.lessons.shelf.OWN", tmp_path)
    test = lessons()
    assert healthy(test, warned=True) and "broken" in test.warning[0].value
    assert r"\<b\>\:red\[Mine\]\<\/b\> \$x\$" in texts(test)
    assert healthy(lessons(id="mine", step="2", answer="5"))
    last = lessons(id=list(FILES)[-1], step="7", answer="shown").button(key="lesson_next")
    assert last.label == f"Next lesson: {markdown('<b>:red[Mine]</b> $x$')}", "the broken one is left out"
    assert healthy(lessons(id="broken"), warned=True)


def test_a_head_that_a_lesson_names_is_a_link():
    test = lessons(id="why_attention", step="3", answer="shown")
    link = r"\[Layer \*\*\d\*\*\\, head \*\*\d\*\*\]\(encoder_attention\?text=The\+animal.*&layer=\d&head=\d\)"
    assert re.search(link, texts(test))


def test_a_link_to_a_step_needs_no_sentence():
    """As a teacher writes it by hand."""
    test = opened("pages/lessons.py", lesson_id="one_row", lesson_step="2")
    assert healthy(test) and "2 of 4" in texts(test)
    assert test.query_params["lesson_id"] == "one_row"
