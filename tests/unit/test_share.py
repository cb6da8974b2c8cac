"""Which of the long tests run in every CI run."""

from __future__ import annotations

from tests.share import PARTS, concerned, share

LONG = [
    f"tests/browser/test_{name}.py::test_{number}"
    for name in ("decoding", "lessons", "gallery") for number in range(70)
]


def test_a_changed_page_brings_the_tests_named_after_it():
    changed = ["pages/ui/decoding/payload.py"]
    assert concerned(LONG[0], changed) and not concerned(LONG[-1], changed)
    assert concerned("tests/browser/test_decoding.py::test", ["assets/decoding/steps.js"])
    assert concerned("tests/ui/test_models.py::test", ["tests/ui/test_models.py"]) is False
    chosen = share(LONG, changed, turn=3)
    assert sum("decoding" in test for test in chosen) >= len(LONG) // PARTS


def test_every_long_test_has_its_turn_within_a_week():
    turns = [share(LONG, [], turn) for turn in range(PARTS)]
    assert set().union(*turns) == set(LONG)


def test_a_share_stays_small_whatever_changed():
    assert len(share(LONG, LONG, turn=1)) < 3 * len(LONG) // PARTS
