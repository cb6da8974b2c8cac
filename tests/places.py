"""All pages and parts of pages in the page registry, for tests that cover every page."""

from dataclasses import dataclass, fields

import pytest

from pages.ui import params as _registered  # noqa: F401  Registers the parameters of every page.
from pages.ui.params.fields import Params
from pages.ui.params.page import Page
from pages.ui.params.pages import FIRST, PAGES

# URL parameters that make a page show more than it does by default, keyed by page name.
MORE = {
    "decoding": {"method": "beam"},
    "switch_heads_off": {"off_heads": "cross.1.8-cross.6.5"},
    "change_attention": {"edit_edits": "cross.all.1.2~3x60", "edit_hidden_source": "1", "edit_kind": "cross"},
    "what_mattered": {"mattered_deletion": "true", "mattered_revealed": "true"},
    "training_lab": {"lab_item": "abcdef"},
    "lessons": {"lesson_id": "one_row"},
}


@dataclass(frozen=True)
class Place:
    """A page, or one part of a page.

    Attributes:
        page: the page's entry in the page registry.
        parameters: URL parameters that open the part.
    """

    page: Page
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        """URL path and query string, to which further parameters can be appended."""
        name = "" if self.page.name == FIRST else self.page.name
        return f"/{name}?" + "".join(f"{key}={value}&" for key, value in self.parameters)

    def __str__(self) -> str:
        return "-".join((self.page.name, *(value for _, value in self.parameters)))

    @property
    def more(self) -> dict[str, str]:
        """URL parameters of the part, and others that make the page show more than it does by default."""
        return {**dict(self.parameters), **MORE.get(self.page.name, {})}


def _places(page: Page) -> list[Place]:
    if not page.parts:
        return [Place(page)]
    (params,) = {
        cls
        for cls in Params.registered()
        if cls.__module__.endswith(f".{page.name}") and any(each.name == "part" for each in fields(cls))
    }
    return [Place(page, ((f"{params.PREFIX}part", part),)) for part in page.parts]


PLACES: tuple[Place, ...] = tuple(place for page in PAGES.values() for place in _places(page))
# For tests that run a model: each page's first part is tested in every test run, the other parts only with
# `pytest -m thorough`.
PAGES_FIRST = [
    pytest.param(place, marks=pytest.mark.thorough) if place != _places(place.page)[0] else place for place in PLACES
]
