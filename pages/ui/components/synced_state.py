"""Server side of the state shared with JavaScript components. The browser side is assets/shared/synced_state.js."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session

# Session-state key for the number of the last request, counted over all components.
NUMBER = "_request"
S = TypeVar("S")


@dataclass(frozen=True)
class StateRequest(Generic[S]):
    """Asks a component to show a state. The component ignores a request whose number it has already seen."""

    number: int
    state: S


class SyncedState(Generic[S]):
    """The last request to a component, and the state that the component shows after changes by the user.

    One object serves all sessions: the values are stored in the session state, under `key`.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @property
    def shown(self) -> S | None:
        """The state that the component shows; None before the first request."""
        _, shown = st.session_state.get(self.key, (None, None))
        return shown

    def request(self, state: S, *, new: bool) -> StateRequest[S]:
        """Return the request to send with the component's data.

        Args:
            state: the state to show.
            new: whether the component must change to this state, for example after a click on a link. If False, return
                the last request again, which the component ignores.
        """
        if new:
            request = StateRequest(_new_number(), state)
        else:
            request, _ = st.session_state[self.key]
        st.session_state[self.key] = request, state
        return request

    def received(self, message: Any, state: S) -> None:
        """Record that the user changed the component's state.

        Ignore a message that answers an earlier request, because the component may not yet have switched to the
        state of the last request. After an ignored message, `shown` still differs from the user's choice, so the
        next script run requests that choice.

        Args:
            message: the untrusted message from the component.
            state: the new state, as parsed from the message.
        """
        request, _ = st.session_state.get(self.key, (None, None))
        if request is not None and isinstance(message, Mapping) and message.get("request") == request.number:
            st.session_state[self.key] = request, state

    def forget(self) -> None:
        """Delete the last request and the state shown, so that the next script run makes a new request."""
        st.session_state.pop(self.key, None)


def synced_params(key: str, params: Params) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return the message that asks a component to show URL parameters, and the callback for changes by the user.

    Args:
        key: the key of the component.
        params: the page's URL parameters.
    """
    synced: SyncedState[Params] = SyncedState(f"_{key}_params")
    stays = session.was_drawn(key) and synced.shown == params
    request = synced.request(params, new=not stays)

    def store() -> None:
        message = st.session_state[key].get("params")
        session.store(type(params).from_browser(message))
        synced.received(message, session.params(type(params)))

    return {"number": request.number, "params": vars(params)}, store


def _new_number() -> int:
    """Return an unused request number. It is based on the time, because an open page may outlive the server process."""
    st.session_state[NUMBER] = max(time.time_ns() // 1_000_000, st.session_state.get(NUMBER, 0) + 1)
    return st.session_state[NUMBER]
