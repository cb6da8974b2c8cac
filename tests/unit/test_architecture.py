"""docs/architecture.md names every room once, and only what is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pages.ui.params.pages import PAGES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# The folder of a page needs no row: the page's entry says what it shows.
ROOMS = {
    f"{folder.relative_to(ROOT).as_posix()}/"
    for place in (ROOT / "transformer", ROOT / "pages" / "ui")
    for folder in place.iterdir() if (folder / "__init__.py").is_file()
} - {f"pages/ui/{page.folder or page.name}/" for page in PAGES.values()}


def test_every_name_is_there():
    names = set(re.findall(r"`((?:transformer|pages|attention_atlas|assets|tests)/[\w./-]+)`", TEXT))
    assert names and not [name for name in names if "NAME" not in name and not (ROOT / name).exists()]


def test_every_room_has_one_row():
    rows = Counter(re.findall(r"^\| `([\w/]+/)` \|", TEXT, flags=re.MULTILINE))
    remedy = "docs/architecture.md needs one row for each: | `ROOM/` | what it does |"
    assert rows.keys() == ROOMS and set(rows.values()) == {1}, remedy


def test_every_module_says_what_it_does():
    """Its docstring's first line takes the place of a list of all files."""
    silent = [
        path.relative_to(ROOT).as_posix() for folder in ("transformer", "attention_atlas", "pages")
        for path in (ROOT / folder).rglob("*.py")
        if path.stat().st_size and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert not silent
