"""Helpers for files and memory: paths, size-limited reading, atomic writing, and memory limits."""
