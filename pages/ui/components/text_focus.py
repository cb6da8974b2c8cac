"""Moves the keyboard focus to a Streamlit text box, which Streamlit itself cannot do."""

from pages.ui.components.bundle import component

draw_focus = component("text_focus/text_focus")


def focus_last_word(label: str, text: str) -> None:
    """Move the focus to a text box and select its last word; do this only once for each text.

    Args:
        label: the label of the text box.
        text: the text in the box.
    """
    draw_focus(key="text_focus", data={"label": label, "text": text}, width="stretch")
