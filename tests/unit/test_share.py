"""Tests how each CI run selects its share of the thorough tests."""

from tests.share import SECONDS, concerned, seconds, share

LONG = {
    f"tests/browser/test_{name}.py::test_{number}": 5.0
    for name in ("decoding", "lessons", "gallery")
    for number in range(70)
}


def test_changing_a_page_selects_the_tests_named_after_the_page():
    decoding, *_, gallery = LONG
    changed = ["pages/ui/decoding/payload.py"]
    assert concerned(decoding, changed) and not concerned(gallery, changed)
    assert concerned("tests/browser/test_decoding.py::test", ["assets/decoding_steps/timeline.js"])
    assert concerned("tests/unit/training/test_trainer.py::test", ["transformer/training/distributed.py"])
    assert concerned("tests/browser/test_every_page.py::test_it[decoding-dark]", changed), "a case of all pages"
    assert concerned("tests/ui/test_models.py::test", ["tests/ui/test_models.py"]) is False
    chosen = share(LONG, changed, turn=3)
    assert sum("decoding" in test for test in chosen) >= SECONDS // 5


def test_every_long_test_is_selected_at_least_once_over_several_commits():
    turns = [share(LONG, [], turn) for turn in range(round(sum(LONG.values()) / SECONDS) + 1)]
    assert set().union(*turns) == set(LONG)


def test_long_tests_selected_for_a_commit_stay_within_the_time_budget():
    assert 5 * len(share(LONG, list(LONG), turn=1)) <= 2 * SECONDS + 5
    assert share({"tests/unit/test_x.py::test": SECONDS}, ["transformer/x.py"], turn=0) == set(), "at night"


def test_estimated_duration_of_a_test_comes_from_its_mark_or_folder():
    assert seconds("tests/browser/test_x.py", None) > seconds("tests/unit/test_x.py", None)
    assert seconds("tests/unit/test_x.py", 30) == 30
