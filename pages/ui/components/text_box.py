"""One-line text box that keeps text that is typed but not sent.

Streamlit's own box has only the sent text, and loses the rest when the user leaves its page. This one is a JavaScript
component. The browser stores the text being typed, the session stores the sent text, and the box shows both.
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
        key: the key of the component, and the name under which the browser stores the typed text.
        text: the text that was last sent, or chosen elsewhere.
        on_submit: called with the typed text, before the page runs again.
        help: a tooltip for the box.
        primary: whether the button is the page's main one.
        asked: a request number; a larger one than before makes the box show `text` even while the user types.
        belongs: the context of the typed text; if it changes, the box discards the typed text.
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
