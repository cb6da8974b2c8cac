"""Nothing that axe-core calls serious or critical, on any page, in light and dark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from pages.ui.params.backpropagation import PARTS as BACKWARD
from pages.ui.params.inside_a_layer import PARTS as INSIDE
from pages.ui.params.positional_encoding import PARTS as POSITIONS
from pages.ui.params.what_mattered import PARTS as MATTERED
from tests.browser.conftest import CHARTS_DRAWN, Visitor

pytestmark = pytest.mark.thorough

# The pages and their parts, and how many components of ours each has.
PAGES = {
    "/?": 3, "/encoder_attention?": 1, "/masked_attention?": 1, "/cross_attention?": 1, "/about?": 0,
    "/compare_heads?compare_part=heads&": 0, "/compare_heads?compare_part=similarity&": 0,
    "/compare_heads?compare_part=two_heads&": 1, "/compare_heads?compare_part=layers&": 0, "/decoding?": 1,
    **{f"/positional_encoding?positions_part={part}&": 0 for part in POSITIONS},
    **{f"/inside_a_layer?inside_part={part}&": 0 for part in INSIDE},
    **{f"/backpropagation?backward_part={part}&": 0 for part in BACKWARD},
    **{
        f"/what_mattered?mattered_part={part}&mattered_deletion=true&mattered_revealed=true&": 0
        for part in MATTERED
    },
    "/lessons?": 0, "/change_attention?edit_edits=cross.all.1.2~3x60&edit_hidden_source=1&edit_kind=cross&": 1,
    "/gallery?": 0, "/training_lab?lab_item=abcdef&": 2,
}
# What a theme can break; names, roles and order are the same in both.
COLOURS = ("color-contrast", "link-in-text-block")
# scrollable-region-focusable: its boxes of formulas scroll on narrow columns, and cannot be given a focus.
STREAMLITS_OWN = {"exclude": [[".katex-display"]]}


def serious(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What is seriously wrong, and where; by some rules, or by all."""
    only = {"runOnly": list(rules)} if rules else {}
    found = Axe().run(page, STREAMLITS_OWN, {"resultTypes": ["violations", "passes"], **only}).response
    # Our components are in shadow trees; axe writes a place in one as a list of its own.
    places = [part for rule in found["passes"] for node in rule["nodes"] for part in node["target"]]
    inside = [place for place in places if isinstance(place, list)]
    assert rules or inside or not page.locator(".atlas").count(), "axe looks into our components"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"] if rule["impact"] in ("serious", "critical") for node in rule["nodes"]
    ]


def charts(page: Page) -> None:
    """Until every chart on the page has drawn: axe finds nothing wrong with one that is not there yet."""
    page.wait_for_function(CHARTS_DRAWN)


def serious_in_both_themes(reader: Visitor) -> list[str]:
    """What is seriously wrong in light, and with the colours in dark; both in one visit, half the time of two."""
    found = []
    for scheme, brighter, rules in (("light", ">", ()), ("dark", "<", COLOURS)):
        reader.page.emulate_media(color_scheme=scheme)
        channels = "getComputedStyle(document.querySelector('.stApp')).backgroundColor.match(/\\d+/g).slice(0, 3)"
        reader.page.wait_for_function(f"{channels}.reduce((sum, one) => sum + Number(one), 0) {brighter} 384")
        reader.wait()
        found += [f"{scheme}: {problem}" for problem in serious(reader.page, rules)]
    return found


@pytest.mark.parametrize("path", PAGES)
def test_pages(reader, path):
    reader.open(f"{path}text=I+have+a+dream.")
    reader.components(PAGES[path])
    charts(reader.page)
    assert serious_in_both_themes(reader) == []


@pytest.mark.parametrize("choices", ["off_heads=cross.1.8-cross.6.5&off_importance=true", "off_heads=none"])
def test_switch_heads_off(visit, server, choices):
    with visit(server) as reader:
        reader.open(f"/switch_heads_off?{choices}&text=I+have+a+dream.")
        reader.page.locator(".switches .head").first.wait_for()
        charts(reader.page)
        assert serious_in_both_themes(reader) == []


def test_everything_of_the_attention_browser(reader):
    reader.open("/cross_attention?text=I+have+a+dream.&look=lines&metric=entropy&rows=0.1&threshold=3&scale=square+root")
    reader.maps(1)
    reader.control("Words").check()
    reader.control("Words").blur()
    reader.page.locator(".atlas .save summary").click()
    assert serious_in_both_themes(reader) == []
    reader.page.get_by_role("button", name="Keys").click()
    assert serious_in_both_themes(reader) == []
