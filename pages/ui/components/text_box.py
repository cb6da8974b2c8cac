"""One-line text box that keeps unsubmitted text.

Streamlit's own text box loses unsubmitted text when the user leaves the page. In this JavaScript component, the browser
stores the typed text, and the session stores the submitted text.
"""

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
    request: int = 0,
    belongs: str = "",
) -> None:
    """Show a text box with a button. Pressing Enter clicks the button.

    Args:
        key: the key of the component, under which the browser also stores the typed text.
        text: the submitted text, or text set by another control.
        on_submit: called with the typed text, before the page's script runs again.
        label: the label of the box.
        placeholder: the text in an empty box.
        button: the label of the button.
        help: the tooltip of the box.
        primary: whether the button is the page's primary button.
        request: a request number; when it increases, `text` replaces the text in the box, even if the user is typing.
        belongs: the context of the typed text; when it changes, the box discards the typed text.
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
            "asked": request,
            "belongs": belongs,
            "label": label,
            "placeholder": placeholder,
            "button": button,
            "help": help,
            "primary": primary,
        },
    )
