"""Selects some of the long tests for each CI run: `pytest -m 'thorough or install' --share`.

All long tests run every night (.ci/nightly). In a CI run, half of the time budget goes to tests that are named after a
changed file: one changed since the commit $SHARE_BASE or, without it, within the last day. The other half goes in turn
to every test that is short enough for it, so that each runs once every few commits.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from zlib import crc32

import pytest

# Test time in seconds for each of two groups: tests related to the changed files, and other tests in rotation. On two
# cores, each group takes one minute.
SECONDS = 120
# Assumed duration in seconds of a test whose pytest mark states none, keyed by path prefix.
COSTS = {"tests/browser": 5, "tests/ui": 2, "": 2}
# Names of folders and files that do not identify a page or a subject.
GENERAL = frozenset(
    {
        "pages",
        "ui",
        "transformer",
        "assets",
        "tests",
        "unit",
        "browser",
        "params",
        "shared",
        "models",
        "text",
        "files",
        "values",
        "__init__",
        "__main__",
        "conftest",
        "style",
        "figures",
        "page",
        "components",
        "model",
    }
)
INSTALLED = ("pyproject.toml", "requirements", "deploy/", "transformer/files/paths.py")


def names(path: str) -> set[str]:
    """Return the names of a file and its folders, except names in GENERAL."""
    parts = PurePosixPath(path).with_suffix("").parts
    return {part.removeprefix("test_").replace("-", "_") for part in parts} - GENERAL


def concerned(test: str, changed: Iterable[str]) -> bool:
    """Return whether a test's path or parameters contain a name that also occurs in a changed file's path."""
    path, _, case = test.partition("::")
    subjects = names(path) | set(re.findall(r"[a-z]\w+", case.partition("[")[2])) - GENERAL
    return any(_alike(subject, name) for path in changed for name in names(path) for subject in subjects)


def _alike(one: str, other: str) -> bool:
    """Return whether two names refer to the same subject, for example `decoding_steps` and `decoding`."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) > 4 and shorter in longer)


def share(tests: Mapping[str, float], changed: Sequence[str], turn: int) -> set[str]:
    """Return the ids of the tests to run this time.

    Args:
        tests: duration of each long test in seconds, by id. A test that takes SECONDS or longer runs only at night.
        changed: paths of the changed files.
        turn: a number that increases with each commit, so that different tests are selected each time.
    """
    short = {test: cost for test, cost in tests.items() if cost < SECONDS}
    about = [test for test in short if concerned(test, changed)]
    about.sort(key=lambda test: crc32(f"{turn} {test}".encode()))
    return {*_within(about, short), *_next(short, turn)}


def _within(tests: Iterable[str], costs: Mapping[str, float]) -> Iterator[str]:
    """Yield the tests in order, and skip each test that no longer fits into the time budget."""
    spent = 0.0
    for test in tests:
        if spent + costs[test] <= SECONDS:
            spent += costs[test]
            yield test


def _next(costs: Mapping[str, float], turn: int) -> Iterator[str]:
    """Yield the tests of turn number `turn`. Successive turns go through all tests in a fixed order."""
    order = sorted(costs, key=lambda test: crc32(test.encode()))
    whole = sum(costs.values())
    for test, end in zip(order, accumulate(costs[test] for test in order), strict=True):
        if (end - costs[test] - turn * SECONDS) % whole < SECONDS:
            yield test


def seconds(test: str, marked: float | None) -> float:
    """Return the expected duration of a test in seconds: `marked` or, if None, a default for the test's folder."""
    return marked or next(cost for beginning, cost in COSTS.items() if test.startswith(beginning))


def _git(*arguments: str) -> list[str]:
    """Return the words that a git command prints; an empty list outside a repository, as in a source archive."""
    done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    return done.stdout.split()


def changed_files() -> list[str]:
    """Return the files changed, committed or not, since the commit $SHARE_BASE or, without it, in the last day."""
    bases = [os.environ.get("SHARE_BASE", ""), *_git("rev-list", "-1", "--before=1 day ago", "HEAD")]
    found = next((base for base in bases if base and _git("rev-parse", "--verify", f"{base}^{{commit}}")), None)
    return _git("diff", "--name-only", found) if found else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", action="store_true", help="run only a share of the long tests, as tests/share.py says")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--share"):
        return
    changed = changed_files()
    marks = {item.nodeid: item.get_closest_marker("thorough") for item in items}
    long = {test: seconds(test, mark.kwargs.get("seconds")) for test, mark in marks.items() if mark}
    chosen = share(long, changed, int(next(iter(_git("rev-list", "--count", "HEAD")), 0)))
    installed = any(path.startswith(INSTALLED) for path in changed)

    def wanted(item: pytest.Item) -> bool:
        if mark := item.get_closest_marker("install"):
            return installed and not mark.kwargs.get("nightly") and "serving" not in item.path.parts
        return item.nodeid in chosen

    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = filter(wanted, items)
