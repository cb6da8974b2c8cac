"""The "Positional encoding" page."""
