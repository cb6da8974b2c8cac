"""What the project's files say of it agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from transformer import __version__

ROOT = Path(__file__).parents[2]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_one_version():
    assert re.findall(r'^version: "?([\d.]+)"?$', text("CITATION.cff"), flags=re.MULTILINE) == [__version__]
    released = re.findall(r"^## ([\d.]+) - (\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert released[0][0] == __version__
    assert f"date-released: {released[0][1]}" in text("CITATION.cff")


def test_an_installation_has_the_licence_of_everything_in_it():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    named = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert named == {ROOT / "LICENSE", *(ROOT / "assets").rglob("*-LICENSE.*")}
    others = text("assets/vendor/README.md") + text("assets/fonts/README.md")
    for licence, spelled in {"MIT": "| MIT |", "OFL-1.1": "OFL 1.1", "Bitstream-Vera": "Bitstream Vera"}.items():
        assert licence in project["license"].split(" AND ") and spelled in others, licence


@pytest.mark.parametrize("name", [
    "requirements.txt", "requirements-hub.txt", "requirements-serve.txt", "tests/requirements.txt",
    "benchmarks/requirements.txt",
])
def test_every_requirement_has_both_bounds(name):
    lines = [line for line in text(name).splitlines() if not line.startswith(("#", "-r "))]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+(\[\w+\])?(==[\w.]+|>=[\d.]+,<[\d.]+)", line), line
