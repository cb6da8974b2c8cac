"""Exception that ends a page after an error message, when there is nothing more to show."""

from __future__ import annotations


class PageEnd(Exception):
    """Raised instead of calling `st.stop`, and caught by the router that runs the pages.

    After `st.stop`, Streamlit keeps the values of widgets that the run did not draw, but the browser drops them. When
    drawn again, the widgets would show their defaults, and send them as if the user had chosen them.
    """
