"""Widgets that show and change URL parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session


def bind(cls: type[Params], name: str, **shown: object) -> dict[str, Any]:
    """Return arguments of a widget that shows and changes a URL parameter.

    Args:
        cls, name: the field.
        shown: `value`, if the widget should show another value than the field has; `labels`, as in `key_for`.
    """
    key = f"{cls.PREFIX}{name}"
    if isinstance(labels := shown.get("labels"), Iterable):
        key = key_for(key, labels)

    def store() -> None:
        value = cls.checked(name, st.session_state[key])
        # An emptied box has no value: the previous one stays.
        if value is not None:
            session.update(cls, **{name: value})

    value = shown.get("value", getattr(session.params(cls), name))
    return {"key": preset(key, list(value) if isinstance(value, tuple) else value), "on_change": store}


def bind_number(
    cls: type[Params], name: str, *, maximum: float | None = None, value: float | None = None
) -> dict[str, Any]:
    """As `bind`, for a number widget with the limits of the field.

    Args:
        maximum: set if the largest number is smaller than the field's limit.
        value: set if the widget should show another value than the field has.
    """
    least, limit = cls.limits(name)
    most = limit if maximum is None else maximum
    shown = min(getattr(session.params(cls), name) if value is None else value, most)
    return {"min_value": least, "max_value": most, **bind(cls, name, value=shown)}


def when_chosen(key: str, store: Callable[[Any], None]) -> Callable[[], None]:
    """Return the callback of a row of buttons that always has a choice: `store` gets the value of the widget `key`.

    If the next run overtook a run before the browser had the new value, the browser reports that none is chosen.
    """

    def stored() -> None:
        if st.session_state[key] is not None:
            store(st.session_state[key])

    return stored


def key_for(key: str, labels: Iterable[str]) -> str:
    """Return the key of a box that offers `labels`; other labels get another key and so another box.

    A browser identifies an option of `st.selectbox` by its label alone. The same box would still show the previous
    text's label, and send it as a choice.
    """
    return f"{key}_{crc32(repr(list(labels)).encode('utf-8', 'backslashreplace')):08x}"


def preset(key: str, value: object) -> str:
    """Set the value that the widget `key` shows, and return the key.

    For widgets whose callback stores changes. Assigning a value discards the text that is being typed, so it is
    assigned only if the value differs.
    """
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    return key
