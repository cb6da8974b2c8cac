"""Parts of the "Long texts" page."""
