"""A against B in a real Chromium: two maps, their difference, and one pointer for all of them."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator

from pages.ui.labels import column_labels, row_labels
from pages.ui.payload import decimals
from tests.browser.component import settle
from tests.browser.conftest import Visitor
from transformer.analysis.view import View, view_of
from transformer.translator import Translator

pytestmark = pytest.mark.thorough

TIRED, WIDE = (f"The animal didn't cross the street because it was too {word}." for word in ("tired", "wide"))
SAID = re.compile(r"([^·]+?): “([^”]*)” to “([^”]*)” (-?[\d.]+|masked)")


@pytest.fixture(scope="module")
def views() -> tuple[View, View]:
    model = Translator.load(device="cpu")
    return tuple(view_of(model.translate(text), "encoder", words=True) for text in (TIRED, WIDE))


def opened(reader: Visitor, a: str, b: str) -> Locator:
    reader.open(f"/compare_heads?text=x&compare_part=versus&compare_a={quote(a)}&compare_b={quote(b)}")
    reader.maps(1)
    reader.wait()
    return reader.page.locator(".maps canvas")


def told(reader: Visitor) -> list[tuple[str, str, str, str]]:
    """Title, row, column and number of every map in the readout."""
    settle(reader.page)
    return [match.groups() for match in SAID.finditer(reader.page.locator(".readout").inner_text())]


def test_one_pointer_reads_both_maps_and_their_difference(reader, views):
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
            canvas.hover(position={"x": across * box["width"], "y": down * box["height"]})
            first, second, difference = told(reader)
            places = [
                (row, column) for row in range(len(rows[0])) for column in range(len(columns[0]))
                if (first[1:3], second[1:3]) == (
                    (rows[0][row], columns[0][column]), (rows[1][row], columns[1][column])
                )
            ]
            expected = [
                tuple(f"{decimals(view.weights[1, 2, row, column]):.4f}" for view in views) for row, column in places
            ]
            assert (first[3], second[3]) in expected
            assert float(difference[3]) == pytest.approx(float(second[3]) - float(first[3]), abs=1e-9)
            assert difference[0].strip().startswith("B minus A")
            seen.add(first[1:])
    assert len(seen) > 3


def test_arrows_read_all_maps(reader, views):
    canvases = opened(reader, f"encoder.1.1.words.{TIRED}", f"encoder.1.1.words.{WIDE}")
    canvases.nth(1).focus()
    for _ in range(len(views[0].axes.rows) + 2):
        reader.page.keyboard.press("ArrowDown")
    first, second, difference = told(reader)
    assert first[1] == second[1] == difference[1] == row_labels(views[0].axes)[-1]
    assert reader.page.locator(".spoken").inner_text() == reader.page.locator(".readout").inner_text()


def test_no_difference_where_the_axes_disagree(reader):
    canvases = opened(reader, f"encoder.1.1.words.{TIRED}", "encoder.1.1.words.I see.")
    assert canvases.count() == 2
    reader.see("There is no difference to draw")
    canvases.nth(0).focus()
    for _ in range(40):
        reader.page.keyboard.press("ArrowRight")
    assert len(told(reader)) == 1, "the shorter sentence has no such word"
