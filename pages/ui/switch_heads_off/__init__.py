"""The "Switch heads off" page: the effect of removed heads, and the importance of every head."""
