"""The way from a head that was found to the page where it is looked at."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.ui import state
from transformer.trace import Kind

PAGES: dict[Kind, str] = {
    "encoder": "pages/encoder_attention.py",
    "decoder": "pages/masked_attention.py",
    "cross": "pages/cross_attention.py",
}


def open_head(kind: Kind, layer: int, head: int) -> None:
    """Draw a button that opens a head, counted from 0, on its page."""
    if st.button(
        f"Open layer {layer + 1}, head {head + 1} of {PAGES[kind].split('/')[1].split('_')[0]} attention",
        key=f"open_{kind}", icon=":material/open_in_full:", type="primary",
    ):
        state.choose(replace(state.choice(), layer=layer, head=head))
        st.switch_page(PAGES[kind])
