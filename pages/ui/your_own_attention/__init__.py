"""The "Your own attention" page."""
