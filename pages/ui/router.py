"""Which pages there are, and how each finds its frame."""

from __future__ import annotations

import importlib
import sys

import streamlit as st

from pages.ui.state import follow_address

ROUTED = "_routed"
MODEL = "transformer.translator"


def pages() -> dict[str, list[st.Page]]:
    """All pages by section, in the order of the menu."""
    return {
        "": [
            st.Page("pages/translate.py", title="Translate", default=True),
            st.Page("pages/encoder_attention.py", title="Encoder attention"),
            st.Page("pages/masked_attention.py", title="Masked attention"),
            st.Page("pages/cross_attention.py", title="Cross attention"),
            st.Page("pages/decoding.py", title="Decoding step by step"),
            st.Page("pages/compare_heads.py", title="Compare heads"),
            st.Page("pages/positional_encoding.py", title="Positional encoding"),
            st.Page("pages/inside_a_layer.py", title="Inside a layer"),
            st.Page("pages/about.py", title="About the model"),
        ]
    }


def navigate() -> None:
    """Run the chosen page; called by app.py alone."""
    page = st.navigation(pages(), position="top")
    follow_address(page.url_path)
    if MODEL not in sys.modules:
        # Torch takes seconds to import; the first visitor of a server should see that something happens.
        with st.spinner("Starting the Transformer …"):
            importlib.import_module(MODEL)
    st.session_state[ROUTED] = True
    page.run()


def ensure_router() -> None:
    """First statement of every page: go through app.py.

    A server whose first visitor opens a deep link runs that page's file by itself, because it finds a folder
    named pages; registering the navigation turns that off, and the rerun comes through app.py.
    """
    if not st.session_state.pop(ROUTED, False):
        st.navigation(pages(), position="top")
        st.rerun()
