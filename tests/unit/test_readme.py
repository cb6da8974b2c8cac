"""The README's promises, as far as they can be run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(code, {})
    assert "(6, 8, " in capsys.readouterr().out


def test_what_it_names_is_there():
    for path in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`((?:pages|transformer|assets)/[\w/.-]+)`", README):
        assert (ROOT / path).exists(), path
