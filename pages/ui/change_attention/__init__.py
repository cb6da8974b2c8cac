"""The "Change what it looks at" page: rows of attention that the user sets, and words that the user erases."""
