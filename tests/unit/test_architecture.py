"""Tests that docs/architecture.md has one row for each package and names only existing files."""

import re
from collections import Counter
from pathlib import Path

from pages.ui.params.pages import PAGES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# Folders of single pages need no row in architecture.md, because the page registry describes them.
PACKAGES = {
    f"{folder.relative_to(ROOT).as_posix()}/"
    for place in (ROOT / "transformer", ROOT / "pages" / "ui")
    for folder in place.iterdir()
    if (folder / "__init__.py").is_file()
} - {f"pages/ui/{page.folder or page.name}/" for page in PAGES.values()}


def test_every_file_named_in_the_document_exists():
    names = set(re.findall(r"`((?:transformer|pages|attention_atlas|assets|tests)/[\w./-]+)`", TEXT))
    assert names and not [name for name in names if "NAME" not in name and not (ROOT / name).exists()]


def test_every_package_has_one_row_in_the_document():
    rows = Counter(re.findall(r"^\| `((?:transformer|pages/ui)/\w+/)` \|", TEXT, flags=re.MULTILINE))
    remedy = "docs/architecture.md needs one row for each package: | `PACKAGE/` | contents |"
    assert rows.keys() == PACKAGES and set(rows.values()) == {1}, remedy


def test_every_module_has_a_docstring():
    """docs/architecture.md does not list every file, because each module's docstring first describes the module."""
    silent = [
        path.relative_to(ROOT).as_posix()
        for folder in ("transformer", "attention_atlas", "pages")
        for path in (ROOT / folder).rglob("*.py")
        if path.stat().st_size and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert not silent
