"""Parts of the Decoding page."""
