"""The page Your own attention."""
