"""Helpers for files: paths, size-limited reading, atomic writing, tensor files, records and CSV cells."""
