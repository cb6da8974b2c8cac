"""Measures how much each token or word mattered for a prediction. Each attribution method has its own file."""
