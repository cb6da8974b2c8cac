"""Rows of attention that the reader gives, and words that are erased."""
