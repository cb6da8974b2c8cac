"""Measurements over many sentences: recorded ones, and those that a page makes."""
