"""The state of a session, in the address and in widgets."""
