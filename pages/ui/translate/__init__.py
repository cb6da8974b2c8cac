"""Parts of the Translate page."""
