"""End-to-end tests of the film on the first page: starting, stepping, following links, saving and closing."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.component import opened_file
from tests.browser.test_accessibility import serious_in_both_themes

SENTENCE = "The animal didn't cross the street because it was too tired."


@pytest.fixture
def film(reader):
    """Return a function that waits until the film shows a given frame, and returns the film's element."""

    def at(frame: int):
        found = reader.page.locator(f".sentence-film[data-drawn$=' {frame}']")
        found.wait_for()
        return found

    return at


def test_user_can_start_the_film_step_through_it_and_follow_its_links(reader, film, offline, shipped, tmp_path):
    keyboard = reader.page.keyboard
    reader.page.emulate_media(reduced_motion="no-preference")
    reader.open("/?" + urlencode({"text": SENTENCE}))
    expect(reader.page.locator(".sentence-film")).to_have_count(0)
    reader.page.get_by_role("button", name="New to this? Watch a 1-minute film").click()
    film(1)
    expect(reader.page.get_by_role("button", name="Pause")).to_be_visible()
    # A key press pauses the film.
    keyboard.press("Home")
    expect(reader.page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    for frame in range(2, 6):
        keyboard.press("PageDown")
        film(frame)
    reader.page.wait_for_url("**film_frame=5**")
    trace = shipped.trace(SENTENCE)
    cells = film(5).locator("li")
    assert cells.locator("small").all_inner_texts() == [
        "≈ 0" if weight < 0.005 else f"{weight:.2f}" for weight in trace.encoder[5, 0, 8]
    ]
    expect(cells.nth(1)).to_contain_text("animal")
    reader.fits("the film")
    with reader.page.expect_download() as saved:
        reader.page.get_by_role("button", name=re.compile("as one file")).click()
    saved.value.save_as(tmp_path / "film.html")
    film(5).get_by_role("link", name="More: Encoder attention").click()
    reader.head(6, 1)
    reader.wait()
    reader.page.go_back()
    film(5)
    reader.wait()
    reader.page.get_by_role("button", name="Close the film").click()
    reader.page.locator(".diagram[data-drawn]").wait_for()
    expect(reader.page.locator(".sentence-film")).to_have_count(0)
    assert "film_frame" not in reader.page.url
    with opened_file(offline, tmp_path / "film.html", last=".sentence-film[data-drawn$=' 1']") as page:
        page.locator(".sentence-film").press("End")
        page.locator(".sentence-film[data-drawn$=' 11']").wait_for()
        expect(page.get_by_role("link")).to_have_count(0)


@pytest.mark.thorough
def test_film_does_not_play_by_itself_with_reduced_motion_and_can_be_advanced_by_clicker(reader, film):
    reader.resize(1024, 768)
    reader.page.emulate_media(reduced_motion="reduce")
    reader.open("/?" + urlencode({"text": SENTENCE}))
    reader.page.get_by_role("button", name="New to this? Watch a 1-minute film").click()
    film(1)
    expect(reader.page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    reader.page.keyboard.press("End")
    film(11)
    reader.page.wait_for_url("**film_frame=11**")
    assert serious_in_both_themes(reader) == []
    reader.open("/?" + urlencode({"text": SENTENCE, "film_frame": "10", "lecture": "true"}))
    film(10)
    reader.page.keyboard.press("PageDown")
    film(11)
    reader.page.keyboard.press("PageUp")
    film(10)
    expect(reader.page.locator(".sentence-film .transport")).to_be_hidden()
    reader.fits("the slide")
