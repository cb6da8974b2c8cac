"""Tests of the last state that a component was asked to show, as its session stores it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def test_choice_made_before_a_requests_run_ends_is_kept():
    """A user starts over and chooses at once, so the run that should make a request ends before it does."""

    def page() -> None:
        from pages.ui.components.synced_state import SyncedState

        synced = SyncedState[str]("state")
        synced.received({"request": 1}, "never asked for")
        number = synced.request("first", new=True).number
        synced.received({"request": number}, "second")
        assert synced.shown == "second"
        synced.forget()
        synced.received({"request": number}, "third")
        assert synced.shown is None and synced.request("third", new=True).number > number

    assert not AppTest.from_function(page).run().exception
