import re

import pytest
from streamlit.runtime.media_file_manager import MediaFileManager

from pages.ui.text.markup import markdown
from tests.ui.driver import headers, healthy, messages, opened, tell, texts, unescaped
from transformer.lessons.folders import lesson_files
from transformer.lessons.lesson import read_lesson

FILES = lesson_files()


def lessons(**address):
    named = {f"lesson_{key}": value for key, value in address.items()}
    return opened("pages/lessons.py", text="I have a dream.", **named)


def test_lessons_page_lists_every_lesson():
    test = lessons(done="one_row")
    assert healthy(test)
    for path in FILES.values():
        assert markdown(read_lesson(path).title) in texts(test)
    assert f"1 of {len(FILES)}" in texts(test)


# Lessons that every test run opens. tests/unit/lessons checks the questions and measurements of the others.
ALWAYS = ("one_row", "many_heads", "mask")


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.thorough) for name in FILES]
)
def test_every_lesson_step_asks_a_question_and_then_shows_the_answer(name):
    for number in range(1, len(read_lesson(FILES[name]).steps) + 1):
        test = lessons(id=name, step=str(number))
        assert healthy(test), name
        if test.button(key="lesson_next").disabled:
            test.button(key="lesson_show").click().run()
            assert healthy(test), name
        assert not test.button(key="lesson_next").disabled


def test_lesson_answer_is_scored_except_in_lecture_mode():
    """In lecture mode, the answer comes from the audience and does not count."""
    asked = {"lesson_id": "query_key_value", "lesson_answer": "1"}
    for lecture, marks in (("false", ["wrong"]), ("true", [])):
        test = opened("pages/lessons.py", **asked, lecture=lecture)
        assert healthy(test) and [data["mark"] for _, data in messages(test, "mark") if "id" in data] == marks


def test_lesson_can_be_completed_from_start_to_finish():
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


def click(test, **choice):
    """Click in the map of a lesson step."""
    header = headers(test)[0]
    node = next(each for each in test.get("bidi_component") if each.proto.bytes)
    tell(test, node, {"choice": {**header["asked"]["choice"], **choice, "id": header["id"]}})


@pytest.mark.parametrize("name", ["aligner", "one_row"])
def test_clicking_a_wrong_row_shows_a_comment_and_the_right_row_unlocks_the_next_step(name):
    right = headers(lessons(id=name, step="1", answer="shown"))[0]["asked"]["choice"]["rows"]
    test = lessons(id=name, step="1")
    assert "You " not in texts(test)
    click(test, rows=[right[0] + 1])
    said = {"aligner": "“in Zeitung → out im”, which looks most at “in”", "one_row": "“in”, which looks most at"}
    assert healthy(test) and f"You marked {said[name]}" in unescaped(test) and "Show me" in texts(test)
    assert test.button(key="lesson_next").disabled and "lesson_answer" not in test.query_params
    click(test, rows=[right[0] + 1], head=(headers(test)[0]["asked"]["choice"]["head"] + 1) % 8)
    assert healthy(test) and "but not in layer" in texts(test)
    click(test, rows=right, head=(headers(test)[0]["asked"]["choice"]["head"] + 1) % 8)
    assert healthy(test) and "but not in layer" in texts(test) and test.button(key="lesson_next").disabled
    click(test, rows=right)
    assert healthy(test) and "You marked" not in texts(test) and not test.button(key="lesson_next").disabled
    test.button(key="lesson_next").click().run()
    assert healthy(test) and "You marked" not in texts(test)


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ({}, "“The”, which looks most at “s end”"),
        ({"hide": True}, "“The”, which looks most at “The”"),
        ({"words": False}, "“␣The”, which looks most at “s end”"),
        ({"words": False, "hide": True}, "“␣The”, which looks most at “␣The”"),
    ],
)
def test_lesson_comment_on_a_click_matches_the_map(shown, said):
    test = lessons(id="one_row", step="1")
    click(test, rows=[0], **shown)
    assert healthy(test) and f"You marked {said}" in unescaped(test)


@pytest.mark.parametrize("shown", [{"hide": True}, {"words": False}, {"look": "lines", "columns": [2]}])
def test_clicking_the_right_row_makes_the_map_show_the_answer(shown):
    answered = headers(lessons(id="one_row", step="1", answer="shown"))[0]["asked"]["choice"]
    test = lessons(id="one_row", step="1")
    before = headers(test)[0]["asked"]
    click(test, rows=answered["rows"], **shown)
    after = headers(test)[0]["asked"]
    assert healthy(test) and not test.button(key="lesson_next").disabled
    assert after["choice"] == answered and after["number"] != before["number"], "numbers of words, and symbols"
    test.run()
    assert headers(test)[0]["asked"] == after, "it is asked once: whatever is chosen next stays"


def test_answering_a_lesson_question_resets_the_map():
    test = lessons(id="one_row", step="3")
    before = headers(test)[0]["asked"]
    click(test, layer=5, rows=[])
    assert headers(test)[0]["asked"] == before, "until then whatever the reader chose stays"
    test.button(key="lesson_choice_1").click().run()
    after = headers(test)[0]["asked"]
    assert healthy(test) and after["choice"] == before["choice"] and after["number"] != before["number"]


def test_lesson_comment_gives_the_position_of_a_repeated_word(tmp_path, monkeypatch):
    shipped = FILES["one_row"].read_text(encoding="utf-8")
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "twice.toml").write_text(shipped.replace("the garden", "a book"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    test = lessons(id="twice", step="1")
    click(test, rows=[5])
    assert healthy(test) and "You marked “a” (position 6), which looks most at" in unescaped(test)


def test_clicking_a_wrong_head_shows_a_comment_and_the_right_head_unlocks_the_next_step():
    found = headers(lessons(id="many_heads", step="2", answer="shown"))[0]["asked"]["choice"]
    test = lessons(id="many_heads", step="2")
    click(test)
    assert "You opened" not in texts(test), "the map opens there"
    click(test, layer=found["layer"], head=(found["head"] + 1) % 8)
    named = f"layer {found['layer'] + 1}, head {(found['head'] + 1) % 8 + 1}"
    assert healthy(test) and f"You opened **{named}**" in texts(test) and test.button(key="lesson_next").disabled
    click(test, layer=found["layer"], head=found["head"])
    assert healthy(test) and "You opened" not in texts(test) and not test.button(key="lesson_next").disabled
    assert headers(test)[0]["asked"]["choice"] == found
    again = lessons(id="many_heads", step="2", answer="1")
    assert headers(again)[0]["asked"]["choice"] == found, "as from its address"


@pytest.mark.parametrize("right", [False, True])
def test_reopening_a_lesson_step_resets_the_step_and_its_map(right):
    found = headers(lessons(id="many_heads", step="2", answer="shown"))[0]["asked"]["choice"]
    test = lessons(id="many_heads", step="2")
    before = headers(test)[0]["asked"]
    click(test, layer=found["layer"], head=found["head"] if right else (found["head"] + 1) % 8)
    assert ("You opened" in texts(test)) != right
    if not right:
        test.button(key="lesson_show").click().run()
    test.button(key="lesson_next").click().run()
    test.button(key="lesson_previous").click().run()
    again = headers(test)[0]["asked"]
    assert again["choice"] == before["choice"] and again["number"] != before["number"]
    assert healthy(test) and "You opened" not in texts(test) and test.button(key="lesson_next").disabled
    assert "lesson_answer" not in test.query_params


def test_reopening_a_step_from_the_lesson_list_resets_it():
    test = lessons(id="one_row", step="1")
    before = headers(test)[0]["asked"]
    click(test, rows=[0])
    assert "You marked" in texts(test)
    next(button for button in test.button if button.label == "All lessons").click().run()
    test.button(key="lesson_open_one_row").click().run()
    assert headers(test)[0]["asked"]["number"] != before["number"], "the browser has what was chosen before"
    assert healthy(test) and "You marked" not in texts(test)


def test_last_lesson_links_back_to_the_list():
    test = lessons(id=list(FILES)[-1], step="7", answer="shown")
    assert test.button(key="lesson_next").label == "Back to all lessons"
    test.button(key="lesson_next").click().run()
    assert f"1 of {len(FILES)}" in texts(test) and healthy(test)


def test_lesson_written_by_a_teacher_is_shown(tmp_path, monkeypatch):
    """The page names an invalid lesson, and shows markup in a lesson literally."""
    text = FILES["one_row"].read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace('title = "One row of a map"', 'title = "<b>:red[Mine]</b> $x$"'), encoding="utf-8"
    )
    (tmp_path / "broken.toml").write_text("title = 1", encoding="utf-8")
    monkeypatch.setattr("transformer.lessons.folders.OWN_FOLDER", tmp_path)
    test = lessons()
    assert healthy(test, warned=True) and "broken" in test.warning[0].value
    assert r"\<b\>\:red\[Mine\]\<\/b\> \$x\$" in texts(test)
    assert healthy(lessons(id="mine", step="2", answer="5"))
    last = lessons(id=list(FILES)[-1], step="7", answer="shown").button(key="lesson_next")
    assert last.label == f"Next lesson: {markdown('<b>:red[Mine]</b> $x$')}", "the broken one is left out"
    assert healthy(lessons(id="broken"), warned=True)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a function that saves a teacher's own lesson and opens the Lessons page at one of its steps."""
    monkeypatch.setattr("transformer.lessons.folders.OWN_FOLDER", tmp_path)

    def write(text: str, step: int = 1, **address: str):
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return lessons(id="mine", step=str(step), **address)

    return write


ROW = FILES["one_row"].read_text(encoding="utf-8")
ONE_WORD = FILES["one_word"].read_text(encoding="utf-8")
STEP_4 = 'figure = { show = "candidates", step = 4 }'


@pytest.mark.parametrize("figure", ['show = "candidates", step = 3000', 'show = "map", kind = "cross", head = "9.9"'])
def test_lesson_that_names_a_nonexistent_decoding_step_or_head_is_reported(own, figure):
    test = own(ONE_WORD.replace(STEP_4, f"figure = {{ {figure} }}"), answer="shown")
    assert healthy(test, warned=True) and test.button(key="lesson_back").label == "All lessons"


def test_unmeasurable_step_is_reported_on_the_printed_sheet(own, monkeypatch):
    """Streamlit builds a download only after the click, and does not show an error raised then."""
    managers = []
    begin = MediaFileManager.__init__
    monkeypatch.setattr(
        MediaFileManager, "__init__", lambda self, *given: (managers.append(self), begin(self, *given))[1]
    )
    claims = list(re.finditer('row = "[a-z]+" }\nfigure', ROW))
    at = claims[2].start()
    test = own(ROW[:at] + ROW[at:].replace(claims[2][0], 'row = "zebra" }\nfigure', 1))
    assert healthy(test), "the first step is as it was"
    made = [each["callable"] for manager in managers for each in manager._deferred_callables.values()]
    papers = [paper for paper in (make() for make in made) if "lesson" in paper]
    assert len(papers) == 3 and all("step 3: there is no word &#x27;zebra&#x27;" in paper for paper in papers)


def test_head_named_by_a_lesson_is_a_link():
    test = lessons(id="why_attention", step="4", answer="shown")
    link = r"\[Layer \*\*\d\*\*\\, head \*\*\d\*\*\]\(encoder_attention\?text=The\+animal.*&layer=\d&head=\d\)"
    assert re.search(link, texts(test))


def test_link_to_a_lesson_step_needs_no_sentence():
    """Teachers write links to lesson steps by hand, without a sentence."""
    test = opened("pages/lessons.py", lesson_id="one_row", lesson_step="2")
    assert healthy(test) and "2 of 4" in texts(test)
    assert test.query_params["lesson_id"] == "one_row"


def test_lesson_shows_its_last_remaining_step_if_the_open_step_was_removed_from_its_file(own):
    test = own(ROW, 4)
    assert "4 of 4" in texts(test)
    own(ROW[: ROW.rindex("[[steps]]")])
    test.run()
    assert healthy(test) and "3 of 3" in texts(test)
