"""The exhibits of the "Gallery of heads" page."""
