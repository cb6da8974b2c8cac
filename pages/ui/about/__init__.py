"""The learning curves of the "About the model" page."""
