"""Parts of the "Your own attention" page."""
