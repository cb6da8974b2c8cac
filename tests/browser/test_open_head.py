"""Tests that a click or a key press on anything that represents a head opens that head."""

import re

import pytest
from playwright.sync_api import expect

HEADS = "/compare_heads?text=I+have+a+dream."
SIMILAR = f"{HEADS}&compare_part=similarity&compare_kind=decoder"
CHARTS = "[data-testid=stVegaLiteChart]"


def back(reader) -> None:
    # Streamlit may add two history entries for the head's page: one on opening, one for the URL parameters.
    for _ in range(2):
        left = reader.page.evaluate("location.href")
        reader.page.go_back()
        # Going back within a page takes effect a moment later.
        reader.page.wait_for_function("left => location.href !== left", arg=left)
        if "compare_heads" in reader.page.evaluate("location.href"):
            break
    reader.arrived("compare_heads")
    # The URL changes before the script run is requested, so wait until that run has removed the head's map.
    expect(reader.page.locator(".atlas")).to_have_count(0)
    reader.wait()


@pytest.mark.thorough
def test_clicking_anywhere_in_a_table_row_opens_its_head(reader):
    reader.open(HEADS)
    row = reader.page.locator(".heads tbody tr").filter(has_text="Cross attention, layer 3, head 5")
    row.locator("td").nth(2).click()
    reader.page.wait_for_url(re.compile("cross_attention.*layer=3&head=5"))
    reader.head(3, 5)
    back(reader)
    # A second click on the same row works too, because the first click leaves no state.
    row.locator("td").nth(1).click()
    reader.page.wait_for_url(re.compile("cross_attention"))
    reader.head(3, 5)


@pytest.mark.thorough
def test_opening_a_gallery_sentence_shows_its_head_with_a_pinned_cell(reader):
    reader.open("/gallery?text=A+dog&palette=magma")
    sentence = reader.page.locator(".gallery li a").first
    text = sentence.get_attribute("aria-label").split(": ", 1)[1]
    sentence.focus()
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_url(re.compile("encoder_attention.*palette=magma.*encoder_rows="))
    reader.has_typed(text)
    expect(reader.page.locator(".atlas .readout")).to_contain_text(re.compile(r"looks at “.*” \(column \d+\) with"))


@pytest.mark.thorough
def test_back_button_returns_to_the_place_where_a_gallery_sentence_was_opened(reader):
    scrolled = "document.querySelector('[data-testid=stMain]').scrollTop"
    reader.open("/gallery?text=A+dog")
    sentence = reader.page.locator(".gallery li a").nth(12)
    sentence.scroll_into_view_if_needed()
    top = reader.page.evaluate(scrolled)
    assert top > 300
    sentence.click()
    reader.page.wait_for_url(re.compile("attention"))
    reader.maps(1)
    while "gallery" not in reader.page.url:
        reader.page.go_back()
        reader.wait()
    reader.page.wait_for_function(f"top => {scrolled} === top", arg=top)


@pytest.mark.thorough
def test_row_in_a_sorted_table_opens_the_correct_head(reader):
    reader.open(HEADS)
    for _ in range(2):
        reader.page.locator(".heads thead button").nth(4).click()
    row = reader.page.locator(".heads tbody tr").nth(2)
    layer, head = map(int, re.findall(r"\d+", row.locator("th").inner_text()))
    row.locator("td").last.click()
    reader.head(layer, head)


@pytest.mark.thorough
def test_table_of_heads_can_be_used_by_keyboard_alone(reader):
    reader.open(HEADS)
    button = reader.page.get_by_role("button", name="Encoder attention, layer 1, head 1", exact=True)
    button.focus()
    reader.page.keyboard.press("Tab")
    assert "compare_heads" in reader.page.url, "moving the focus opens nothing"
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_url(re.compile("encoder_attention"))
    reader.head(1, 2)


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_clicking_a_cell_of_a_metric_map_opens_its_head(reader, times):
    reader.open(HEADS)
    cells = reader.page.locator(CHARTS).nth(1).locator("path[aria-roledescription='rect mark']")
    for time in range(times):
        if time:
            back(reader)
        reader.drawn(cells.nth(2 * 8 + 5))
        cells.nth(2 * 8 + 5).click()
        reader.page.wait_for_url(re.compile("masked_attention.*layer=3&head=6"))
        reader.head(3, 6)


@pytest.mark.thorough
def test_clicking_a_scatter_plot_point_opens_its_head(reader):
    points = reader.page.locator(f"{CHARTS} .mark-symbol.role-mark path")
    reader.open(SIMILAR)
    # Clicking the same point again opens the head again, and so does a click on a smaller screen.
    for width, height in ((1440, 900), (1440, 900), (1024, 768)):
        reader.resize(width, height)
        reader.drawn(points.nth(47))
        points.nth(47).click(force=True)
        reader.page.wait_for_url(re.compile("masked_attention.*layer=6&head=8"))
        reader.head(6, 8)
        back(reader)


@pytest.mark.thorough
def test_head_in_the_scatter_plot_can_be_opened_by_keyboard_alone(reader):
    reader.open(f"{SIMILAR}&layer=2&head=3")
    reader.page.get_by_role("button", name="Open layer 2, head 3 of masked attention").focus()
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_url(re.compile("masked_attention"))
    reader.head(2, 3)


@pytest.mark.thorough
def test_two_most_similar_heads_are_shown_as_links(reader):
    reader.open(SIMILAR)
    for number in (1, 2):
        link = reader.page.locator(f".st-key-alike_{number}_decoder button")
        layer, head = re.findall(r"[0-9]+", link.inner_text())
        link.click()
        reader.page.wait_for_url(re.compile("masked_attention"))
        reader.head(int(layer), int(head))
        back(reader)
