"""Repeats the forward pass in numpy float64, number by number, from a trace with details and the model's weights."""
