"""The pages of the three kinds of attention, and the way there from a head that was found elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from pages.ui import state
from transformer.trace import Kind


@dataclass(frozen=True)
class KindPage:
    """The page of one kind of attention: its file, its title, and who looks at whom there."""

    path: str
    title: str
    subtitle: str


PAGES: dict[Kind, KindPage] = {
    "encoder": KindPage("pages/encoder_attention.py", "Encoder attention", "English looks at English"),
    "decoder": KindPage("pages/masked_attention.py", "Masked attention", "German looks back at German"),
    "cross": KindPage("pages/cross_attention.py", "Cross attention", "German looks at English"),
}


def open_head(kind: Kind, layer: int, head: int) -> None:
    """Draw a button that opens a head, counted from 0, on its page."""
    page = PAGES[kind]
    if st.button(
        f"Open layer {layer + 1}, head {head + 1} of {page.title.lower()}",
        key=f"open_{kind}", icon=":material/open_in_full:", type="primary",
    ):
        state.choose(replace(state.choice(), layer=layer, head=head))
        st.switch_page(page.path)
