"""Nothing that axe-core calls serious or critical, on any page, in light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The pages and their parts, and how many components of our own each has.
PAGES = {
    "/?": 3, "/encoder_attention?": 1, "/masked_attention?": 1, "/cross_attention?": 1, "/about?": 0,
    "/compare_heads?compare_part=heads&": 0, "/compare_heads?compare_part=similarity&": 0,
    "/compare_heads?compare_part=versus&": 1, "/compare_heads?compare_part=layers&": 0,
}
SCHEMES = ("light", "dark")
# color-contrast: in the dark, Streamlit writes the chosen one of a segmented control in the theme's primary colour, on
# a tint of it, at 3.6 : 1. A primary colour light enough for that could not carry the white text of its buttons.
STREAMLITS_OWN = {"exclude": [["[data-variant=segmented_control][data-selected=true]"]]}


def serious(page: Page) -> list[str]:
    """What is seriously wrong, and where."""
    found = Axe().run(page, STREAMLITS_OWN, {"resultTypes": ["violations", "passes"]}).response
    # Our components are in shadow trees; axe writes a place in one as a list of its own.
    places = [part for rule in found["passes"] for node in rule["nodes"] for part in node["target"]]
    inside = [place for place in places if isinstance(place, list)]
    assert bool(inside) == (page.locator(".atlas").count() > 0), "axe looks into our components"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"] if rule["impact"] in ("serious", "critical") for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", PAGES)
def test_pages(visit, server, path, scheme):
    with visit(server, color_scheme=scheme) as reader:
        reader.open(f"{path}text=I+have+a+dream.")
        reader.maps(PAGES[path])
        assert serious(reader.page) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_everything_of_the_attention_browser(visit, server, scheme):
    with visit(server, color_scheme=scheme) as reader:
        reader.open("/cross_attention?text=I+have+a+dream.&look=lines&metric=entropy&rows=0.1&threshold=3&scale=square+root")
        reader.maps(1)
        reader.control("Words").check()
        reader.control("Words").blur()
        reader.page.locator(".save summary").click()
        assert serious(reader.page) == []
        reader.page.get_by_role("button", name="Keys").click()
        assert serious(reader.page) == []
