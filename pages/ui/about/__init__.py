"""The "About the model" page."""
