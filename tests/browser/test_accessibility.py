"""Nothing that axe-core calls serious or critical, on any page, in light and dark; nothing is excepted."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The pages, and how many attention browsers each has.
PAGES = {"/": 3, "/encoder_attention": 1, "/masked_attention": 1, "/cross_attention": 1, "/about": 0}
SCHEMES = ("light", "dark")


def serious(page: Page) -> list[str]:
    """What is seriously wrong, and where. Axe must have found the attention browsers, which are in shadow trees."""
    found = Axe().run(page, options={"resultTypes": ["violations", "passes"]}).response
    looked_at = str([node["target"] for rule in found["passes"] for node in rule["nodes"]])
    assert ("'.grid" in looked_at) == (page.locator(".atlas").count() > 0)
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"] if rule["impact"] in ("serious", "critical") for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("path", PAGES)
def test_pages(visit, server, path, scheme):
    with visit(server, color_scheme=scheme) as reader:
        reader.open(f"{path}?text=I+have+a+dream.")
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
