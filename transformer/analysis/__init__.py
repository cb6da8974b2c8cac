"""Measurements of a trace, such as head metrics and word alignments, in numpy. The package never runs a model."""
