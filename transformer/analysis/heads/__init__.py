"""Measures, names, compares and clusters attention heads by their behaviour."""
