"""Binds widgets to URL parameters: a widget shows the parameter's value and stores the user's changes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from zlib import crc32

import streamlit as st

from pages.ui.params.fields import Params
from pages.ui.state import session


def bind(cls: type[Params], name: str, **shown: object) -> dict[str, Any]:
    """Return the keyword arguments `key` and `on_change` that bind a widget to a URL parameter.

    Args:
        cls, name: the parameter class and the name of its field.
        shown: optional keywords: `value` to show instead of the field's value, and option `labels` for `key_for`.
    """
    key = f"{cls.PREFIX}{name}"
    if isinstance(labels := shown.get("labels"), Iterable):
        key = key_for(key, labels)

    def store() -> None:
        value = cls.checked(name, st.session_state[key])
        # An empty number box has no value, so the field keeps its previous value.
        if value is not None:
            session.update(cls, **{name: value})

    value = shown.get("value", getattr(session.params(cls), name))
    return {"key": preset(key, list(value) if isinstance(value, tuple) else value), "on_change": store}


def segments(
    label: str, titles: Mapping[Any, str], cls: type[Params], name: str, *, value: object = None, **options: Any
) -> None:
    """Show a segmented control that is bound to a URL parameter.

    Args:
        label: the label of the control.
        titles: the title of each value, in the order of the control.
        cls, name: the parameter class and the field's name.
        value: the value to show; None for the field's current value.
        options: further options for `st.segmented_control`.
    """
    shown = {} if value is None else {"value": value}
    st.segmented_control(
        label, tuple(titles), format_func=titles.__getitem__, required=True, **options, **bind(cls, name, **shown)
    )


def bind_number(
    cls: type[Params], name: str, *, maximum: float | None = None, value: float | None = None
) -> dict[str, Any]:
    """Return the keyword arguments that bind a number widget to a URL parameter, including the field's limits.

    Args:
        maximum: the largest allowed number; None for the field's own limit.
        value: the value to show; None for the field's current value.
    """
    least, limit = cls.limits(name)
    most = limit if maximum is None else maximum
    number = min(getattr(session.params(cls), name) if value is None else value, most)
    return {"min_value": least, "max_value": most, **bind(cls, name, value=number)}


def setting(cls: type[Params], **changes: object) -> dict[str, Any]:
    """Return the keyword arguments for a button that changes some URL parameters."""
    return {"on_click": session.update, "args": (cls,), "kwargs": changes}


def when_chosen(key: str, store: Callable[[Any], None]) -> Callable[[], None]:
    """Return a callback that passes a segmented control's value to `store`, unless the value is empty.

    Even if a choice is required, the browser may report an empty value. This happens if a script run was interrupted
    before the browser had received the new value.
    """

    def stored() -> None:
        if st.session_state[key] is not None:
            store(st.session_state[key])

    return stored


def key_for(key: str, labels: Iterable[str]) -> str:
    """Return a widget key that depends on a select box's option labels, so that new labels create a new widget.

    The browser identifies an option of `st.selectbox` only by its label. With an unchanged key, the box would still
    show a label of the previous options, and report it as the user's choice.
    """
    return f"{key}_{crc32(repr(list(labels)).encode('utf-8', 'backslashreplace')):08x}"


def preset(key: str, value: object) -> str:
    """Set the value that a widget shows, and return the widget's key.

    Use this for widgets whose callback stores changes. Assigning a value would discard text that the user is typing, so
    the value is assigned only if it differs.
    """
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    return key
