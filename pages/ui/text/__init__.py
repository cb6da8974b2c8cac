"""Formatting of users' text, labels and numbers."""
