"""Tests of the layout of maps, grids and controls on every page that has them."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import window

SENTENCE = "text=The+animal+did+not+cross+the+street+because+it+was+too+tired."
PAGES = ("/encoder_attention", "/cross_attention", "/masked_attention", "/language_model", "/change_attention")
SIZES = [(1440, 900), (1024, 768)]
# JavaScript: top and bottom of each part of the attention browser, in screen coordinates.
PLACES = """root => Object.fromEntries(
    [".grid", ".legend", ".stage > .bar", ".save", ".help", ".stage > .readout", ".save .choices"].map(name => {
        const { top, bottom } = root.querySelector(name).getBoundingClientRect();
        return [name.split(".").at(-1), { top, bottom }];
    })
)"""


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("path", PAGES)
def test_controls_are_just_below_the_grid_of_maps_and_visible_without_scrolling(reader, path, size):
    width, height = size
    reader.resize(width, height)
    reader.open(f"{path}?{SENTENCE}")
    reader.maps(1)
    root = reader.page.locator(".atlas").first
    at = root.evaluate(PLACES)
    assert at["help"]["bottom"] <= height and at["save"]["bottom"] <= height
    expect(reader.control("Words")).to_be_in_viewport(ratio=1)
    above = max(at["grid"]["bottom"], at["legend"]["bottom"])
    assert 0 <= at["bar"]["top"] - above < 12, "nothing is between the grid and its controls"
    assert 0 <= at["readout"]["top"] - at["bar"]["bottom"] < 12, "nothing is between the controls and the readout"
    root.locator(".save summary").click()
    opened = root.evaluate(PLACES)
    assert opened["choices"]["top"] >= 0 and opened["choices"]["bottom"] <= height
    assert opened["bar"] == at["bar"], "the page did not scroll"


@pytest.mark.thorough
def test_bet_on_the_next_word_is_shown_above_the_map(reader):
    reader.open("/change_attention")
    reader.maps(1)
    bet = reader.page.get_by_role("button", name="Bet:")
    for accepted in (False, True):
        if accepted:
            bet.click()
            bet = reader.page.locator(".st-key-bet")
            expect(bet).to_be_visible()
        reader.wait()
        assert bet.bounding_box()["y"] < reader.page.locator(".atlas").first.bounding_box()["y"]


@pytest.mark.thorough
def test_tapping_a_head_on_a_phone_brings_its_map_into_view(browser, server):
    with window(browser, has_touch=True, viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{server}/encoder_attention?{SENTENCE}&layer=1&head=1")
        root = page.locator(".atlas[data-drawn$=' 1 1']")
        expect(root).to_be_visible()
        grid = page.locator("canvas.grid")
        box = grid.bounding_box()
        # The tap hits the last head of the last layer.
        grid.tap(position={"x": box["width"] - 25, "y": box["height"] - 12})
        expect(page.locator(".atlas[data-drawn$=' 6 8']")).to_be_visible()
        expect(grid).to_be_in_viewport(ratio=1)
        expect(page.locator("canvas.large")).to_be_in_viewport(ratio=0.999)
