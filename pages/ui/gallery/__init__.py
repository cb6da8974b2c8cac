"""The "Gallery of heads" page."""
