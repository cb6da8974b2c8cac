"""Tests that page scripts run one at a time, and that a script releases its turn no matter how it ends."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.ui.runs.script_runs import SCRIPT_RUNS
from tests.ui.driver import DREAM, healthy, opened

PATIENCE = 240


@pytest.mark.parametrize(
    ("page", "text"),
    [("cross_attention", DREAM), ("cross_attention", ""), ("cross_attention", "too long " * 500), ("lessons", DREAM)],
)
def test_page_script_releases_its_turn_if_it_stops_early_or_restarts(page, text):
    """Covers a page that stops early, and a page that restarts because it was opened outside app.py."""
    assert healthy(opened(f"pages/{page}.py", text=text), warned=not text or len(text) > 100)
    assert not SCRIPT_RUNS._queue


def test_page_script_waits_until_another_page_script_has_ended():
    with ThreadPoolExecutor() as people:
        with SCRIPT_RUNS:
            answer = people.submit(opened, "pages/translate.py", text=DREAM)
            moment = threading.Event()
            for _ in range(PATIENCE * 100):
                if len(SCRIPT_RUNS._queue) > 1 or answer.done():
                    break
                moment.wait(0.01)
            assert len(SCRIPT_RUNS._queue) == 2 and not answer.done()
        assert healthy(answer.result(PATIENCE))
    assert not SCRIPT_RUNS._queue
