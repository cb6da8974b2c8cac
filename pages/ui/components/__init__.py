"""JavaScript components, and the messages that they receive from the server."""
