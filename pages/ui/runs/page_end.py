"""Exception that ends a page after an error message."""

from __future__ import annotations


class PageEnd(Exception):
    """Raised instead of calling `st.stop`; the router catches it.

    After `st.stop`, Streamlit keeps the values of widgets that the script run did not reach, but the browser drops
    them. When shown again, the widgets would reset to their defaults, and report these as the user's choice.
    """
