"""Tests of a lesson in Chromium: by keyboard, on small screens, on paper and without a network."""

import re

import pytest
from playwright.sync_api import expect

ROW = "/lessons?lesson_id=one_row&lesson_step=3"


def said(reader):
    return reader.page.locator(".atlas .readout")


def test_lesson_can_be_completed_by_keyboard(reader):
    """A user predicts, reveals the measured answer and continues without a pointer. The answer is hidden at first."""
    reader.open(ROW)
    reader.maps(1)
    expect(said(reader)).to_contain_text("Layer 3, head 1")
    expect(said(reader)).to_contain_text("Hover over a cell to read it")
    expect(said(reader)).not_to_contain_text("looks most at")
    assert "looks most at" not in reader.page.locator(".atlas .spoken").inner_text()
    choices = reader.page.locator("[class*=st-key-lesson_choice_] button")
    assert sorted(text.split()[0] for text in choices.all_inner_texts()) == ["a", "is", "reading"]
    following = reader.page.get_by_role("button", name="Next")
    expect(following).to_be_disabled()
    reader.page.keyboard.press("3")
    reader.see("Right.")
    expect(said(reader)).to_contain_text("“newspaper” looks most at “reading”")
    expect(reader.page).to_have_url(re.compile("lesson_answer=3"))
    reader.wait()
    reader.page.keyboard.press("PageDown")
    reader.see("One row of a map · 4 of 4")
    box = reader.page.get_by_label("Your guess, in percent")
    box.fill("5")
    box.press("Enter")
    reader.see("You said 5%.")
    reader.wait()
    reader.page.keyboard.press("PageUp")
    reader.see("One row of a map · 3 of 4")


@pytest.mark.thorough
def test_arrow_keys_step_through_a_lesson(reader):
    """The buttons show their keys. The key for the next step first reveals the answer."""
    reader.open(ROW)
    reader.maps(1)
    show = reader.page.locator(".st-key-lesson_show kbd")
    assert show.evaluate("key => getComputedStyle(key, '::after').content") == '"→"'
    for key, seen in (("ArrowRight", "comes next with"), ("ArrowRight", "4 of 4"), ("ArrowLeft", "3 of 4")):
        reader.wait()
        reader.page.keyboard.press(key)
        reader.see(seen)
    # With focus on the map, arrow keys move between cells.
    reader.wait()
    reader.page.locator("canvas.large").focus()
    reader.page.keyboard.press("ArrowRight")
    expect(said(reader)).not_to_contain_text("Hover over a cell")
    expect(reader.page.get_by_text("3 of 4")).to_be_visible()


@pytest.mark.thorough
def test_lesson_can_be_printed_and_used_offline(reader, offline, tmp_path):
    """Checks the sheet for students, the sheet with the answers, and the saved file."""
    reader.open(ROW)
    reader.maps(1)
    reader.page.get_by_role("button", name="Print or download").click()
    page, requests = offline
    for label, answered in (
        ("Sheet for students, with an empty table", False),
        ("Sheet with the answers", True),
        ("The whole lesson as one file, for offline use", True),
    ):
        with reader.page.expect_download() as download:
            reader.page.get_by_role("button", name=label).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        page.goto(file.as_uri())
        shown = page.locator("main")
        expect(shown).to_contain_text("Which word does “newspaper” look at most here?")
        assert ("comes next with" in (shown.text_content() or "")) == answered
        assert len(page.pdf()) > 5_000
    expect(page.locator(".atlas[data-drawn]")).to_have_count(4)
    hidden = page.get_by_text("comes next with")
    expect(hidden).to_be_hidden()
    page.locator("summary", has_text="What was measured").nth(2).click()
    expect(hidden).to_be_visible()
    assert not requests


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1024, 768), (390, 844)])
def test_lesson_fits_small_screens(reader, size):
    reader.resize(*size)
    reader.open(ROW)
    reader.maps(1)
    reader.fits("the lesson")
    question = reader.page.get_by_text("Which word does").bounding_box()
    assert question and question["y"] + question["height"] < size[1], "the question is on the first screen"


@pytest.mark.thorough
def test_title_of_the_next_lesson_is_not_cut_off(reader):
    reader.resize(1024, 768)
    reader.open("/lessons?lesson_id=positions&lesson_step=3&lesson_answer=shown")
    following = reader.page.locator(".st-key-lesson_next p")
    expect(following).to_have_text("Next lesson: The mask, and what leaks without it")
    reader.until(following, "text => text.scrollWidth <= text.clientWidth", "the title is cut")
