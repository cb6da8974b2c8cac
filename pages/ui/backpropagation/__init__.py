"""The page Backpropagation."""
