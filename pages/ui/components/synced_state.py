"""Synchronises state between the server and a component.

assets/shared/synced_state.js is the browser's side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session

# Session-state key for the number of the last request to any component.
NUMBER = "_request"
S = TypeVar("S")


@dataclass(frozen=True)
class StateRequest(Generic[S]):
    """The server's request that a component show a state; a new number marks a new request."""

    number: int
    state: S


class SyncedState(Generic[S]):
    """The last request to a component, and the state that the component shows, which the user may have changed since.

    One object serves all sessions; each session stores both values under `key`.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @property
    def shown(self) -> S | None:
        """The state that the component shows; None before the first request."""
        _, shown = st.session_state.get(self.key, (None, None))
        return shown

    def request(self, state: S, *, new: bool) -> StateRequest[S]:
        """Return the request for a state.

        Args:
            state: the state to show.
            new: whether the component does not show the state yet, because it was chosen by a link, by the back button,
                or on another page. If False, the last request is repeated, and the component does not change.
        """
        if new:
            request = StateRequest(_new_number(), state)
        else:
            request, _ = st.session_state[self.key]
        st.session_state[self.key] = request, state
        return request

    def received(self, message: Any, state: S) -> None:
        """Record that the user changed the component's state.

        Nothing is recorded if the browser has not yet received the last request, which will replace the user's choice.
        The next script run then requests the choice again. The same applies if the request was forgotten, and the
        script run that should have made a new one ended early.

        Args:
            message: the component's message, which is untrusted.
            state: the state described by the message.
        """
        request, _ = st.session_state.get(self.key, (None, None))
        if request is not None and isinstance(message, Mapping) and message.get("request") == request.number:
            st.session_state[self.key] = request, state

    def forget(self) -> None:
        """Forget the request and the shown state, so that the next request counts as new even for the same state."""
        st.session_state.pop(self.key, None)


def synced_params(key: str, params: Params) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return the message that asks a component to show URL parameters, and the callback for its state "params".

    Args:
        key: the key of the component.
        params: the page's URL parameters, which the user can change in the component.
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
