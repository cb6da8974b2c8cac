"""The page Compare heads."""
