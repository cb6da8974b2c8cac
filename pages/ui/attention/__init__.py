"""The three pages of attention."""
