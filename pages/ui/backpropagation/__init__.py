"""The Backpropagation page."""
