"""Rows of attention that the user sets, and words that the user erases."""
