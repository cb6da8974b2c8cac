"""The page about the model."""
