"""The session's state, and how the URL and widgets reflect it."""
