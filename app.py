"""Attention Atlas: start with `streamlit run app.py`."""

from __future__ import annotations

import streamlit as st

if __name__ == "__main__":
    # Streamlit runs the page for a session.
    from pages.ui.shell.frame import draw

    draw()
else:
    # Streamlit found `app` below and imports this file once, before it accepts a connection.
    from pages.ui.server.endpoint_filter import MIDDLEWARE, disable_ip_lookup
    from pages.ui.server.warm_up import lifespan

    disable_ip_lookup()
    app = st.App(__file__, lifespan=lifespan, middleware=MIDDLEWARE)
