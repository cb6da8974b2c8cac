"""Repeats the forward pass step by step in numpy float64, from a trace with details and the model's weights."""
