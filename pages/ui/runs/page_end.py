"""Exception that ends a page after an error message."""


class PageEnd(Exception):
    """Raised to end a page early; the router catches the exception.

    `st.stop` is unsuitable. After it, Streamlit keeps the values of widgets that the script run did not reach, but the
    browser drops them. When shown again, the widgets would report their defaults as the user's choice.
    """
