from streamlit.testing.v1 import AppTest


def test_user_choice_made_while_a_server_request_is_pending_is_kept():
    """The script run that sends the request may take long. Meanwhile, the user may make another choice."""

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
