"""Binds widgets to URL parameters, which the widgets show and change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session


def bind(cls: type[Params], name: str, **shown: object) -> dict[str, Any]:
    """Return the arguments of a widget that shows and changes a URL parameter.

    Args:
        cls, name: the class and the name of the field.
        shown: `value`, if the widget should not show the field's own value; `labels`, as in `key_for`.
    """
    key = f"{cls.PREFIX}{name}"
    if isinstance(labels := shown.get("labels"), Iterable):
        key = key_for(key, labels)

    def store() -> None:
        value = cls.checked(name, st.session_state[key])
        # An empty box has no value, so the field keeps its previous one.
        if value is not None:
            session.update(cls, **{name: value})

    value = shown.get("value", getattr(session.params(cls), name))
    return {"key": preset(key, list(value) if isinstance(value, tuple) else value), "on_change": store}


def bind_number(
    cls: type[Params], name: str, *, maximum: float | None = None, value: float | None = None
) -> dict[str, Any]:
    """Return the arguments of a number widget with the limits of the field, as `bind` does for other widgets.

    Args:
        maximum: the largest number, if it is smaller than the field's limit.
        value: the value to show, if it is not the field's own.
    """
    least, limit = cls.limits(name)
    most = limit if maximum is None else maximum
    shown = min(getattr(session.params(cls), name) if value is None else value, most)
    return {"min_value": least, "max_value": most, **bind(cls, name, value=shown)}


def setting(cls: type[Params], **changes: object) -> dict[str, Any]:
    """Return the arguments of a button that changes some URL parameters."""
    return {"on_click": session.update, "args": (cls,), "kwargs": changes}


def when_chosen(key: str, store: Callable[[Any], None]) -> Callable[[], None]:
    """Return the callback of a row of buttons that always has a choice; it passes the widget's value to `store`.

    The value is ignored if it is empty: the browser reports that if a run was interrupted before the browser received
    the new value.
    """

    def stored() -> None:
        if st.session_state[key] is not None:
            store(st.session_state[key])

    return stored


def key_for(key: str, labels: Iterable[str]) -> str:
    """Return the key of a select box with these labels; other labels get another key and so a new box.

    The browser identifies an option of `st.selectbox` only by its label. With the same key, the box would still show a
    label of the previous text, and send it as the user's choice.
    """
    return f"{key}_{crc32(repr(list(labels)).encode('utf-8', 'backslashreplace')):08x}"


def preset(key: str, value: object) -> str:
    """Set the value that the widget `key` shows, and return the key.

    It is meant for widgets whose callback stores changes. Assigning a value discards text that is being typed, so the
    value is assigned only if it differs.
    """
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    return key
