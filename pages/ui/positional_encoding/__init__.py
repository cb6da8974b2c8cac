"""The page Positional encoding."""
