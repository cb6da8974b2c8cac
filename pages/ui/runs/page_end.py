"""Exception that ends a page after a message to the user."""


class PageEnd(Exception):
    """Raised to end a page early; the router catches the exception.

    `st.stop` is unsuitable. After `st.stop`, Streamlit keeps the values of widgets that the script run did not reach,
    but the browser drops these values. When shown again, the widgets would report their defaults as the user's choice.
    """
