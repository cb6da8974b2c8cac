"""Readers' text, labels and numbers in words."""
