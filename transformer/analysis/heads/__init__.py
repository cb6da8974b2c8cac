"""Measures, names, compares and lays out attention heads by their behaviour."""
