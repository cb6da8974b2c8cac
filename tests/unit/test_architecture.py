"""docs/architecture.md names every module once, where it is."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

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


def test_every_module_is_named_once():
    """Or lies in a folder that stands for all in it: one without a file named."""
    names = Counter(named())
    whole = [
        folder for folder in names if folder.endswith("/") and sum(name.startswith(folder) for name in names) == 1
    ]
    times = {module: names[module] + sum(module.startswith(folder) for folder in whole) for module in sorted(MODULES)}
    wrong = {module: count for module, count in times.items() if count != 1}
    assert MODULES and not wrong, f"docs/architecture.md has to name each module once and say what it does: {wrong}"
