"""Parts of the "Positional encoding" page."""
