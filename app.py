"""The Attention Atlas app. Start it with `streamlit run app.py`."""

import streamlit as st

if __name__ == "__main__":
    # Streamlit executes this file as the main script, once for every script run of a session.
    from pages.ui.shell.frame import draw

    draw()
else:
    # The server imports this file once, finds `app` below, and only then accepts connections.
    from pages.ui.server.endpoint_filter import MIDDLEWARE, disable_ip_lookup
    from pages.ui.server.warm_up import lifespan

    disable_ip_lookup()
    app = st.App(__file__, lifespan=lifespan, middleware=MIDDLEWARE)
