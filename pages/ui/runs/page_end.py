"""Exception that ends a page after a message to the user."""


class PageEnd(Exception):
    """Raised to end a page early; the router catches the exception.

    `st.stop` is unsuitable: the server would keep the values of widgets that the script run did not reach, although the
    browser drops its copies. When shown again, these widgets would report their defaults as the user's choice.
    """
