"""Replays the forward pass step by step in float64 numpy, from a trace with details and the model's weights."""
