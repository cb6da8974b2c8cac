"""Session state, and its synchronisation with the URL and with widgets."""
