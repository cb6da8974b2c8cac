"""The "Backpropagation" page."""
