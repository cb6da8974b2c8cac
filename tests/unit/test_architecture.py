"""docs/architecture.md names every module once, where it is."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "architecture.md"
MODULES = {
    path.relative_to(ROOT).as_posix()
    for folder in ("transformer", "pages") for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py"
}


def named():
    """Every file and folder that the numbered sections and what follows name, in order; folders end in "/"."""
    _, *sections = re.split(r"^## ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for section in sections:
        for paragraph in re.split(r"\n(?=- |\n)", section):
            folder = ""
            for name in re.findall(r"`([\w./-]+(?:\.py|/))`", paragraph):
                if name.endswith("/"):
                    folder = name
                yield name if "/" in name else folder + name


def test_every_name_is_there():
    for name in named():
        assert (ROOT / name).exists(), name


@cache
def counted():
    """How often every name is there, and the folders that stand for all that lies in them: without a file named."""
    names = Counter(named())
    return names, [
        folder for folder in names if folder.endswith("/") and sum(name.startswith(folder) for name in names) == 1
    ]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_is_named_once(module):
    names, whole = counted()
    times = names[module] + sum(module.startswith(folder) for folder in whole)
    assert times == 1, f"docs/architecture.md names {module} {times} times: say there what it does, once"
