"""Tests of "A vs. B" in Chromium: two maps, their difference, and a pointer that marks the same cell in all three."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator

from attention_atlas.browser.labels import column_labels, row_labels
from pages.ui.text.number_format import rounded
from tests.browser.component import settle
from tests.browser.conftest import Visitor
from transformer.analysis.view import View, view_of

TIRED, WIDE = (f"The animal didn't cross the street because it was too {word}." for word in ("tired", "wide"))
SAID = re.compile(r"([^·]+?): “([^”]*)” to “([^”]*)” (−?[\d.]+|masked)")


@pytest.fixture(scope="module")
def views(shipped) -> tuple[View, View]:
    return tuple(view_of(shipped.trace(text), "encoder", words=True) for text in (TIRED, WIDE))


def opened(reader: Visitor, a: str, b: str) -> Locator:
    reader.open(f"/compare_heads?text=x&compare_part=two_heads&compare_a={quote(a)}&compare_b={quote(b)}")
    reader.maps(1)
    reader.wait()
    return reader.page.locator(".maps canvas")


def reported(reader: Visitor) -> list[tuple[str, str, str, str]]:
    """Return the title, row, column and value that the readout shows for each map."""
    settle(reader.page)
    return [match.groups() for match in SAID.finditer(reader.page.locator(".readout").inner_text())]


@pytest.mark.thorough
def test_hovering_shows_the_weights_of_both_maps_and_their_difference(reader, views):
    a, b = views
    canvases = opened(reader, f"encoder.2.3.words.{TIRED}", f"encoder.2.3.words.{WIDE}")
    assert canvases.count() == 3
    rows, columns = (row_labels(a.axes), row_labels(b.axes)), (column_labels(a.axes), column_labels(b.axes))
    seen = set()
    for number in range(3):
        canvas = canvases.nth(number)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        for across, down in ((0.3, 0.4), (0.5, 0.6), (0.7, 0.8)):
            # All maps have the same size, so shift the pointer to reach different cells in each of them.
            down -= 0.05 * number
            canvas.hover(position={"x": across * box["width"], "y": down * box["height"]})
            first, second, difference = reported(reader)
            places = [
                (row, column)
                for row in range(len(rows[0]))
                for column in range(len(columns[0]))
                if (first[1:3], second[1:3]) == ((rows[0][row], columns[0][column]), (rows[1][row], columns[1][column]))
            ]
            expected = [
                tuple(f"{rounded(view.weights[1, 2, row, column]):.4f}" for view in views) for row, column in places
            ]
            assert (first[3], second[3]) in expected
            assert float(difference[3].replace("−", "-")) == pytest.approx(float(second[3]) - float(first[3]), abs=1e-9)
            assert difference[0].strip().startswith("B minus A")
            seen.add(first[1:])
    assert len(seen) > 3


@pytest.mark.thorough
def test_pressing_an_arrow_key_selects_the_corresponding_cell_in_all_three_maps(reader, views):
    canvases = opened(reader, f"encoder.1.1.words.{TIRED}", f"encoder.1.1.words.{WIDE}")
    canvases.nth(1).focus()
    for _ in range(len(views[0].axes.rows) + 2):
        reader.page.keyboard.press("ArrowDown")
    first, second, difference = reported(reader)
    assert first[1] == second[1] == difference[1] == row_labels(views[0].axes)[-1]
    assert reader.page.locator(".spoken").inner_text() == reader.page.locator(".readout").inner_text()


@pytest.mark.thorough
def test_no_difference_is_shown_for_maps_with_different_axes(reader):
    canvases = opened(reader, f"encoder.1.1.words.{TIRED}", "encoder.1.1.words.I see.")
    assert canvases.count() == 2
    reader.see("The difference cannot be shown")
    canvases.nth(0).focus()
    for _ in range(40):
        reader.page.keyboard.press("ArrowRight")
    assert len(reported(reader)) == 1, "the shorter sentence has no such word"


def top_of(reader: Visitor, canvas: Locator) -> float:
    """Return the y coordinate of a map's first row on the page, found by moving the pointer."""
    box = canvas.bounding_box()
    above, within = 26.0, 0.7 * box["height"]
    while within - above > 1:
        between = (above + within) / 2
        canvas.hover(position={"x": 0.6 * box["width"], "y": between})
        above, within = (above, between) if reported(reader) else (between, within)
    return box["y"] + within


@pytest.mark.thorough
@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)], ids=str)
def test_both_maps_and_their_difference_are_side_by_side(visit, server, size):
    with visit(server, viewport={"width": size[0], "height": size[1]}) as reader:
        canvases = opened(reader, f"encoder.1.1.words.{TIRED}", f"encoder.1.1.words.{WIDE}")
        # Content above the maps appears a moment later and moves them.
        reader.wait()
        reader.page.wait_for_timeout(1_500)
        boxes = [canvas.bounding_box() for canvas in canvases.all()]
        assert len({box["y"] for box in boxes}) == len({box["height"] for box in boxes}) == 1
        tops = [top_of(reader, canvas) for canvas in canvases.all()]
        assert max(tops) - min(tops) <= 1, tops


@pytest.mark.thorough
def test_axis_titles_are_not_cut_off(reader):
    canvases = opened(reader, "encoder.1.1.tokens.I see.", "encoder.1.1.tokens.I do.")
    for canvas in canvases.all():
        # Pixels drawn next to the top or bottom edge of the canvas would mean that a letter is cut off.
        assert (
            canvas.evaluate("""canvas => {
            const { data, width, height } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let ink = 0;
            for (let x = 0; x < 24 * devicePixelRatio; x++) for (const y of [0, 1, height - 2, height - 1])
                ink += data[4 * (y * width + x) + 3];
            return ink;
        }""")
            == 0
        )
