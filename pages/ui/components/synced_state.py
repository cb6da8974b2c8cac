"""Synchronises state between the server and a component; assets/shared/synced_state.js is the browser's side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session

# Session key of the number of the last request to any component.
NUMBER = "_request"
S = TypeVar("S")


@dataclass(frozen=True)
class StateRequest(Generic[S]):
    """A state that a component should show; a new number marks a new request."""

    number: int
    state: S


class SyncedState(Generic[S]):
    """The last request to a component, and the state that it shows; the two differ after the user changes the state.

    One object serves all sessions; each session stores both values under `key`.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @property
    def shown(self) -> S | None:
        """The state that the component shows; None before its first request."""
        _, shown = st.session_state.get(self.key, (None, None))
        return shown

    def request(self, state: S, *, new: bool) -> StateRequest[S]:
        """Return the request for a state.

        Args:
            new: whether the component does not show the state yet, because it was chosen elsewhere: by a link, by the
                back button, or on another page. Otherwise the last request stays, and the component does not change.
        """
        if new:
            request = StateRequest(_new_number(), state)
        else:
            request, _ = st.session_state[self.key]
        st.session_state[self.key] = request, state
        return request

    def received(self, sent: Any, state: S) -> None:
        """Record that the component shows the state that the user chose in it.

        If the last request is still on its way, it will replace the user's choice. Nothing is recorded then, so that
        the next run requests the choice again. The same applies if the request was forgotten, and the run that should
        have made another one ended early.

        Args:
            sent: the component's message, which is untrusted.
            state: the state that the message describes.
        """
        request, _ = st.session_state.get(self.key, (None, None))
        if request is not None and isinstance(sent, Mapping) and sent.get("request") == request.number:
            st.session_state[self.key] = request, state

    def forget(self) -> None:
        """Forget the request and the shown state, so that the next request is new even for the same state."""
        st.session_state.pop(self.key, None)


def synced_params(key: str, params: Params) -> tuple[dict[str, Any], Callable[[], None]]:
    """Return the message that asks a component to show some parameters, and the callback of its state "params".

    Args:
        key: the key of the component.
        params: URL parameters of a page, which the user can change in the component.
    """
    synced: SyncedState[Params] = SyncedState(f"_{key}_params")
    stays = session.was_drawn(key) and synced.shown == params
    asked = synced.request(params, new=not stays)

    def store() -> None:
        sent = st.session_state[key].get("params")
        session.store(type(params).from_browser(sent))
        synced.received(sent, session.params(type(params)))

    return {"number": asked.number, "params": vars(params)}, store


def _new_number() -> int:
    """Return a request number that was never used before; it is a time, because an open page may outlive its server."""
    st.session_state[NUMBER] = max(time.time_ns() // 1_000_000, st.session_state.get(NUMBER, 0) + 1)
    return st.session_state[NUMBER]
