"""Tests of every page and every part of a page in Chromium, at two screen sizes."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import CHARTS_DRAWN
from tests.places import PLACES

SIZES = ((1440, 900), (1024, 768))
# JavaScript that returns the formulas whose end is hidden because they are wider than their scrolling box.
CUT_FORMULAS = """() => [...document.querySelectorAll(".katex-display")].filter(
    formula => formula.scrollWidth > formula.clientWidth + 2).map(formula => formula.textContent)"""


# Marked thorough, because tests/browser/test_frame.py covers one page per section in every test run.
@pytest.mark.thorough
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_page_fits_both_screen_sizes_and_logs_no_error(reader, place):
    """The `reader` fixture also fails the test on a console error or warning, a failed request, or a request to another
    machine.
    """
    reader.resize(*SIZES[0])
    page = reader.page
    reader.open(f"{place.path}{urlencode({'text': 'I have a dream.', 'layer': 2, 'head': 5, **place.more})}")
    expect(page).to_have_title(f"{place.page.title} · Attention Atlas")
    expect(page.get_by_role("heading", level=1)).to_have_text([place.page.title])
    for width, height in SIZES:
        reader.resize(width, height)
        reader.wait()
        page.wait_for_function(CHARTS_DRAWN)
        reader.fits(f"{place} is wider than {width} pixels")
        page.wait_for_function(f"() => !({CUT_FORMULAS})().length")
