"""State that the server shares with a component; assets/shared/synced_state.js is the browser's side."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

# Key of the number of the last request to any component, in the session.
NUMBER = "_request"
S = TypeVar("S")


@dataclass(frozen=True)
class StateRequest(Generic[S]):
    """State that a component was asked to show; the number makes it a new request."""

    number: int
    state: S


class SyncedState(Generic[S]):
    """Last request to a component, and the state that it shows; they differ after the user changes it.

    One object serves all sessions. The session holds both, under `key`.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    @property
    def shown(self) -> S | None:
        """State that the component shows; None before its first request."""
        _, shown = st.session_state.get(self.key, (None, None))
        return shown

    def request(self, state: S, *, new: bool) -> StateRequest[S]:
        """Return the request for a state.

        Args:
            new: the component does not show it yet, because it was chosen elsewhere: by a link, the back button, or on
                another page. Otherwise the last request stays, and the component does not change.
        """
        if new:
            request = StateRequest(_new_number(), state)
        else:
            request, _ = st.session_state[self.key]
        st.session_state[self.key] = request, state
        return request

    def received(self, sent: Any, state: S) -> None:
        """Note that the component shows what the user chose in it.

        If the last request is still on its way, it will replace the choice. Nothing is noted then, so that the next run
        requests the choice again. The same applies if the request was forgotten and the run that was to make another
        one ended early.

        Args:
            sent: by the component, so untrusted.
            state: that it describes.
        """
        request, _ = st.session_state.get(self.key, (None, None))
        if request is not None and isinstance(sent, Mapping) and sent.get("request") == request.number:
            st.session_state[self.key] = request, state

    def forget(self) -> None:
        """Forget both, so that the next request is a new one even for the same state."""
        st.session_state.pop(self.key, None)


def _new_number() -> int:
    """Return a number of milliseconds that no request had before; an open page may outlive its server."""
    st.session_state[NUMBER] = max(time.time_ns() // 1_000_000, st.session_state.get(NUMBER, 0) + 1)
    return st.session_state[NUMBER]
