"""The state of a session, and its representation in the address and in widgets."""
