"""Tests that the project's files agree on versions, requirements and licences."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from packaging.version import Version

from transformer import __version__

ROOT = Path(__file__).parents[2]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_all_project_files_name_the_same_version():
    assert re.findall(r'^version: "?([\d.]+)"?$', text("CITATION.cff"), flags=re.MULTILINE) == [__version__]
    assert tomllib.loads(text("assets/pyproject.toml"))["project"]["version"] == __version__
    released = re.findall(r"^## ([\d.]+) - (\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert released[0][0] == __version__
    assert f"date-released: {released[0][1]}" in text("CITATION.cff")


def test_no_two_classes_share_a_name():
    modules = (path for folder in ("transformer", "pages", "attention_atlas") for path in (ROOT / folder).rglob("*.py"))
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in modules)
    names = Counter(each.name for tree in trees for each in tree.body if isinstance(each, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


def test_installation_contains_the_licences_of_all_its_parts():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    named = {path for pattern in project["license-files"] for path in ROOT.glob(pattern)}
    assert named == {ROOT / "LICENSE", *(ROOT / "assets").rglob("*-LICENSE.*")}
    others = text("assets/vendor/README.md") + text("assets/fonts/README.md")
    for licence, spelled in {"MIT": "| MIT |", "OFL-1.1": "OFL 1.1", "Bitstream-Vera": "Bitstream Vera"}.items():
        assert licence in project["license"].split(" AND ") and spelled in others, licence


REQUIREMENTS = ("requirements.txt", "requirements-serve.txt", "tests/requirements.txt", "benchmarks/requirements.txt")
# For each package, the first version without a vulnerability known in November 2026, and vulnerabilities of the
# versions before it.
SAFE = {
    "pillow": ("13", "CVE-2026-59200 and four more in 12.2; packagers name more in 12.3"),
    "protobuf": ("6.33.5", "CVE-2026-0994"),
    "pypdf": ("7.1.1", "CVE-2026-119208, which does not say where it begins"),
    "pytest": ("9.0.3", "CVE-2025-71176"),
    "python-multipart": ("0.0.30", "CVE-2026-53538, CVE-2026-42561, CVE-2026-40347"),
    "ray": ("2.52", "CVE-2025-62593"),
    "sentencepiece": ("0.2.1", "CVE-2026-1260"),
    "starlette": ("1.3.0", "PYSEC-2026-248, CVE-2026-48710, CVE-2025-62727"),
    "torch": ("2.6", "CVE-2025-32434"),
    "transformers": ("5.17", "CVE-2026-80047, CVE-2026-9856, CVE-2026-5241"),
}


def requirements(name):
    return [line for line in text(name).splitlines() if not line.startswith(("#", "-r "))]


def test_no_requirement_allows_a_version_with_a_known_vulnerability():
    oldest = {}
    for line in (line for name in REQUIREMENTS for line in requirements(name)):
        name, bound = re.match(r"([\w.-]+)(?:\[\w+\])?[=>]=([\w.]+)", line).groups()
        oldest.setdefault(name, []).append(bound)
    assert oldest.keys() >= SAFE.keys()
    for name, (safe, hole) in SAFE.items():
        assert all(Version(bound) >= Version(safe) for bound in oldest[name]), (name, hole)


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_has_a_lower_and_an_upper_bound(name):
    lines = requirements(name)
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+(\[\w+\])?(==[\w.]+|>=[\d.]+,<[\d.]+)(; sys_platform != 'win32')?", line), line


def test_installation_requires_the_tested_versions():
    """torch is the exception, because an exact version would exclude users with another version."""
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    installed = {*project["dependencies"], *extras["train"], *extras["app"]}
    own = {each for each in installed if each.startswith("attention-atlas")}
    assert installed - own - {"torch>=2.9,<3"} == set(requirements("requirements.txt")) - {"torch==2.13.0"}
    assert set(requirements("requirements-serve.txt")) == {*extras["serve"]} - {"attention-atlas[train]"}
