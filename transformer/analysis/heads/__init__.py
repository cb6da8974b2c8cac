"""Measures, names, compares and arranges attention heads by their behaviour."""
