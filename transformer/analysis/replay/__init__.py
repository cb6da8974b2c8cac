"""Repeats the forward pass step by step in numpy float64, given a trace with details and the model's weights."""
