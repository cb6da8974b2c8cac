"""Box for one line of text that keeps text that is typed but not sent.

Streamlit's own box knows only the sent text, and forgets the rest when the user leaves its page. This one is a
JavaScript component. The browser keeps the text being typed, and the session the sent text; the box is a view of both.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.ui.components.bundle import component

draw_box = component("text_box/text_box")


def text_box(
    key: str,
    text: str,
    on_submit: Callable[[str], None],
    *,
    label: str,
    placeholder: str,
    button: str,
    help: str = "",
    primary: bool = False,
    asked: int = 0,
    belongs: str = "",
) -> None:
    """Draw the box and its button; Enter presses the button.

    Args:
        key: of the component, and the name under which the browser keeps what is typed.
        text: the text that was sent last, or chosen elsewhere.
        on_submit: called with the typed text, before the page runs again.
        help: shown when the pointer rests on the box.
        primary: whether the button is the page's main one.
        asked: a larger number than before makes the box show `text` even while the user types.
        belongs: if this text changes, the box forgets the typed text.
    """

    def store() -> None:
        submitted = st.session_state[key].get("submitted")
        if isinstance(submitted, str):
            on_submit(submitted)

    draw_box(
        key=key,
        on_submitted_change=store,
        width="stretch",
        data={
            "name": key,
            "text": text,
            "asked": asked,
            "belongs": belongs,
            "label": label,
            "placeholder": placeholder,
            "button": button,
            "help": help,
            "primary": primary,
        },
    )
