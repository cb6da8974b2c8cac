"""What a component was last asked to show, as its session keeps it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def test_what_is_chosen_after_the_request_was_forgotten_is_asked_for_again():
    """Somebody starts over and chooses at once: the run that was to make a request ends before it does."""

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
