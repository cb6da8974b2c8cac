"""`pytest -m 'thorough or install' --share`: the part of the long tests that belongs into every run of CI.

All of them run every night (.ci/nightly). A share has the tests whose file is named after something that changed since
$SHARE_BASE, or else within the last day, up to a seventh of all, and a seventh that differs from commit to commit.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from zlib import crc32

import pytest

PARTS = 7
# Folders and files whose names say nothing about a page or a subject.
GENERAL = frozenset({
    "pages", "ui", "transformer", "assets", "tests", "unit", "browser", "params", "shared", "models", "text", "files",
    "values", "__init__", "__main__", "conftest", "style", "figures", "page", "components", "model",
})
INSTALLED = ("pyproject.toml", "requirements", "deploy/", "transformer/files/paths.py")


def names(path: str) -> set[str]:
    """What a changed file is about: the names of its folders and of itself."""
    parts = PurePosixPath(path).with_suffix("").parts
    return {part.removeprefix("test_").replace("-", "_") for part in parts} - GENERAL


def concerned(test: str, changed: Iterable[str]) -> bool:
    """Whether a test's file is named after something that changed, or has changed itself."""
    stem = PurePosixPath(test.partition("::")[0]).stem.removeprefix("test_")
    return any(stem == name or (len(name) > 4 and name in stem) for path in changed for name in names(path))


def share(tests: Sequence[str], changed: Sequence[str], turn: int) -> set[str]:
    """The tests, by their ids, that run this time.

    Args:
        tests: ids of all long tests.
        changed: paths of the changed files.
        turn: whose number decides which seventh it is.
    """
    most = -(-len(tests) // PARTS)
    about = [test for test in tests if concerned(test, changed)]
    about.sort(key=lambda test: crc32(f"{turn} {test}".encode()))
    return {*about[:most], *(test for test in tests if crc32(test.encode()) % PARTS == turn % PARTS)}


def _git(*arguments: str) -> list[str]:
    """What git answers, in words; nothing where there is no history to ask, as in an archive."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout.split()


def changed_files() -> list[str]:
    """Paths of the files that differ from $SHARE_BASE, or from a day ago."""
    bases = [os.environ.get("SHARE_BASE", ""), *_git("rev-list", "-1", "--before=1 day ago", "HEAD")]
    found = next((base for base in bases if base and _git("rev-parse", "--verify", f"{base}^{{commit}}")), None)
    return _git("diff", "--name-only", found, "HEAD") if found else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", action="store_true", help="of the long tests, run what the last changes ask for")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--share"):
        return
    changed = changed_files()
    long = [item.nodeid for item in items if item.get_closest_marker("thorough")]
    chosen = share(long, changed, int(next(iter(_git("rev-list", "--count", "HEAD")), 0)))
    installed = any(path.startswith(INSTALLED) for path in changed)

    def wanted(item: pytest.Item) -> bool:
        if item.get_closest_marker("install"):
            return installed and "serving" not in item.path.parts
        return item.nodeid in chosen

    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = filter(wanted, items)
