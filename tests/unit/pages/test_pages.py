import re
from pathlib import Path

import pytest

from pages.ui.params.pages import PAGES, sections
from tests.places import PLACES

ROOT = Path(__file__).parents[3]


def test_every_page_is_registered():
    assert {path.stem for path in (ROOT / "pages").glob("[a-z]*.py")} == PAGES.keys()


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"translate"}))
def test_every_page_has_a_folder_and_a_function_for_each_part(name):
    page = PAGES[name]
    assert (ROOT / "pages" / "ui" / (page.folder or page.name)).is_dir()
    assert all(callable(page.function(part)) for part in page.parts)


def test_readme_lists_the_registered_pages_in_order():
    rows = [
        f"| {section if page == listed[0] else ''} | {page.title} | {page.shows} |".replace("|  |", "| |")
        for section, listed in sections().items()
        for page in listed
    ]
    table = re.findall(r"^\|.*\|$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    missing = [row for row in rows if row not in table]
    assert not missing, "README.md needs these rows:\n" + "\n".join(missing)
    assert [row for row in table if row in rows] == rows, "README.md has its rows in another order than the menu"


def test_every_part_of_a_page_has_a_unique_path():
    assert len({place.path for place in PLACES}) == len(PLACES) > len(PAGES)


def test_every_page_has_a_one_line_explanation():
    assert all(page.line.endswith(".") and len(page.line) <= 110 for page in PAGES.values())
