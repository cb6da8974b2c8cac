"""The "Compare heads" page."""
