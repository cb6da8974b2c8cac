"""Helpers for files and memory: paths, reading up to a size limit, atomic writing, and memory limits."""
