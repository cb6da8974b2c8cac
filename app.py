"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

if __name__ == "__main__":
    # A run of the page for somebody.
    from pages.ui.shell.frame import draw

    draw()
else:
    # Streamlit found the last line, and imports this file before it answers anybody.
    from pages.ui.shell.doors import close_doors

    close_doors()
    app = st.App(__file__)
