"""Parts of the page Decoding."""
