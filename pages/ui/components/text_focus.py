"""Puts the cursor into a text box of Streamlit, which has no way to do so."""

from __future__ import annotations

from pages.ui.components.bundle import component

draw_focus = component("text_focus/text_focus")


def ask_for_a_word(label: str, text: str) -> None:
    """Put the cursor on the last word of a text box, once for each text.

    Args:
        label: the label of the box.
        text: its text.
    """
    draw_focus(key="text_focus", data={"label": label, "text": text}, width="stretch")
