"""The end of a page that has said what is wrong and can show no more."""

from __future__ import annotations


class PageEnd(Exception):
    """Raised instead of `st.stop`, and caught where pages are run.

    After `st.stop` Streamlit keeps the values of the widgets that the run did not draw, while the browser drops them:
    drawn again, they would show their defaults, and send them as if somebody had chosen them.
    """
