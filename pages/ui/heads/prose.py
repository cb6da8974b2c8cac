"""Shows a paragraph in which the names of heads are links."""

from collections.abc import Callable
from dataclasses import asdict

import streamlit as st

from pages.ui.components.bundle import component
from pages.ui.heads.kinds import MAPS, HeadMaps
from pages.ui.state import session
from pages.ui.text.head_link import HeadLink

draw_prose = component("prose/prose")
# Session-state key that stores the clicked head's attention kind until the next script run draws a paragraph.
CLICKED = "_clicked_link"


def prose(
    key: str, parts: list[str | HeadLink], maps: HeadMaps = MAPS, *, opened: Callable[[], None] | None = None
) -> None:
    """Show a paragraph in which clicking a head opens the head's attention map.

    Args:
        key: the key of the component.
        parts: plain texts and heads, in reading order.
        maps: the pages that show the model's attention maps.
        opened: called when the user clicks a head, before the page's script runs again.
    """
    if not parts:
        return
    parts_data = [
        part
        if isinstance(part, str)
        else {**asdict(part), "text": str(part), "page": maps.pages[part.kind].address, "prefix": maps.params.PREFIX}
        for part in parts
    ]

    def clicked() -> None:
        parts_data = st.session_state[key].get("open")
        choice = maps.params.from_browser(parts_data)
        if choice.chosen and parts_data.get("kind") in maps.pages:
            session.store_attention(maps.at(choice.layer, choice.head))
            maps.prepare(parts_data["kind"])
            st.session_state[CLICKED] = parts_data["kind"]
            if opened is not None:
                opened()

    draw_prose(key=key, data={"parts": parts_data}, on_open_change=clicked, width="stretch")
    if CLICKED in st.session_state:
        st.switch_page(maps.pages[st.session_state.pop(CLICKED)].path)
