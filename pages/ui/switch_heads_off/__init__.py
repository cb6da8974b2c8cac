"""Parts of the "Switch heads off" page: the effect of removing heads, and the importance of every head."""
