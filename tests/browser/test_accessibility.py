"""Accessibility tests with axe-core: no page has a serious or critical violation, in the light or the dark theme."""

from collections.abc import Sequence

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.conftest import CHARTS_DRAWN, Visitor
from tests.places import PLACES

pytestmark = pytest.mark.thorough

# URL parameters that make pages show content that they do not show by default.
MORE = {
    "what_mattered": "mattered_deletion=true&mattered_revealed=true",
    "change_attention": "edit_edits=cross.all.1.2~3x60&edit_hidden_source=1&edit_kind=cross",
    "switch_heads_off": "off_heads=cross.1.8-cross.6.5&off_importance=true",
    "training_lab": "lab_item=abcdef",
}
# Rules that depend on the theme. All other rules check markup, which both themes share.
COLOURS = ("color-contrast", "link-in-text-block")
# Streamlit's formula boxes break scrollable-region-focusable: in narrow columns, they scroll but cannot be focused.
STREAMLITS_OWN = {"exclude": [[".katex-display"]]}


def serious(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """Return the serious and critical violations of the given axe rules (by default, all), with their locations."""
    only = {"runOnly": list(rules)} if rules else {}
    found = Axe().run(page, STREAMLITS_OWN, {"resultTypes": ["violations", "passes"], **only}).response
    # Our components are in shadow roots; axe reports a location in a shadow root as a nested list.
    places = [part for rule in found["passes"] for node in rule["nodes"] for part in node["target"]]
    inside = [place for place in places if isinstance(place, list)]
    assert rules or inside or not page.locator(".atlas").count(), "axe looks into our components"
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def charts(page: Page) -> None:
    """Wait until every chart on the page is drawn, because axe cannot check a missing chart."""
    page.wait_for_function(CHARTS_DRAWN)


def serious_in_both_themes(reader: Visitor) -> list[str]:
    """Return the open page's violations of all rules in the light theme and of the COLOURS rules in the dark theme."""
    found = []
    for scheme, brighter, rules in (("light", ">", ()), ("dark", "<", COLOURS)):
        reader.page.emulate_media(color_scheme=scheme)
        channels = "getComputedStyle(document.querySelector('.stApp')).backgroundColor.match(/\\d+/g).slice(0, 3)"
        reader.page.wait_for_function(f"{channels}.reduce((sum, one) => sum + Number(one), 0) {brighter} 384")
        reader.wait()
        found += [f"{scheme}: {problem}" for problem in serious(reader.page, rules)]
    return found


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_no_page_has_a_serious_accessibility_violation(reader, place):
    reader.open(f"{place.path}{MORE.get(place.page.name, '')}&text=I+have+a+dream.")
    charts(reader.page)
    assert reader.page.get_by_role("heading", level=1).count() == 1
    assert serious_in_both_themes(reader) == []


def test_open_menu_and_shortcut_list_have_no_serious_accessibility_violation(reader):
    reader.open(
        "/cross_attention?text=I+have+a+dream.&look=lines&metric=entropy&rows=0.1&threshold=3&scale=square+root"
    )
    reader.maps(1)
    reader.control("Words").check()
    reader.control("Words").blur()
    reader.page.locator(".atlas .save summary").click()
    assert serious_in_both_themes(reader) == []
    reader.page.get_by_role("button", name="Keys").click()
    assert serious_in_both_themes(reader) == []
