"""The page Switch heads off: the effect of removed heads, and the importance of every head."""
