import pytest
from playwright.sync_api import expect

from tests.browser.test_chart_text import labels

DREAM = "text=I+have+a+dream."


@pytest.mark.thorough
def test_word_chosen_by_keyboard_is_restored_from_the_url(reader, visit, server):
    reader.open(f"/what_mattered?{DREAM}&mattered_explained=1")
    words = reader.page.get_by_test_id("stButtonGroup").nth(1)
    expect(words.get_by_role("radio", name="Ich", exact=True)).to_be_checked()
    word = words.get_by_role("radio", name="Traum", exact=True)
    word.focus()
    reader.page.keyboard.press("Space")
    expect(word).to_be_checked()
    reader.page.wait_for_function("location.search.includes('mattered_explained=4')")
    reader.see("methods put")
    with visit(server) as another:
        another.open(f"/what_mattered?{reader.page.url.partition('?')[2]}")
        again = another.page.get_by_test_id("stButtonGroup").nth(1)
        expect(again.get_by_role("radio", name="Traum", exact=True)).to_be_checked()


# Not in every test run, because test_open_head.py already checks a click on a chart mark in every run.
@pytest.mark.thorough
def test_clicking_the_bar_of_a_head_opens_the_head(reader):
    reader.open(f"/what_mattered?{DREAM}&mattered_part=writers&mattered_explained=4")
    named = next(text for text in labels(reader, "mattered_bars") if text.startswith("cross attention"))
    _, layer, head = (part.split()[-1] for part in named.split(", "))
    bar = reader.page.locator(f"[data-testid=stVegaLiteChart] svg .mark-rect path[aria-label*='{named}']")
    reader.drawn(bar)
    bar.click()
    reader.page.wait_for_url("**/cross_attention**")
    reader.head(int(layer), int(head))


@pytest.mark.thorough
def test_page_fits_a_phone(reader):
    reader.resize(390, 844)
    reader.open(f"/what_mattered?{DREAM}")
    reader.see("methods put")
    reader.fits("What mattered")
