import re

import pytest
from playwright.sync_api import expect


@pytest.mark.thorough
def test_page_shows_three_maps_and_the_measured_cost_of_a_typed_text(visit, server):
    with visit(server) as reader:
        reader.open("/long_texts?text=x")
        reader.page.locator("[data-drawn=maps] canvas").nth(2).wait_for()
        reader.page.get_by_label("Text, up to 96 tokens").fill("The dog sleeps.")
        reader.page.keyboard.press("Enter")
        expect(reader.page.get_by_text(re.compile(r"Compressed: \d+ × \d")).first).to_be_visible()
        reader.page.wait_for_url(re.compile("long_text=The"))
        reader.fits("the maps")
        reader.page.get_by_role("radio", name="Cost", exact=True).or_(
            reader.page.get_by_role("button", name="Cost", exact=True)
        ).first.click()
        reader.page.get_by_role("button", name="Measure on this machine").click()
        reader.see("this machine, just now")
        reader.fits("the plot")
