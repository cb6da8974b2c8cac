"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st
from streamlit import net_util

if __name__ == "__main__":
    # A run of the page for somebody.
    from pages.ui.frame import draw

    draw()
else:
    # Streamlit found the last line, and imports this file before it answers anybody. Nothing leaves this machine:
    # Streamlit would ask an outside service for its address whenever another site's page knocks.
    net_util.get_external_ip = lambda: None
    app = st.App(__file__)
