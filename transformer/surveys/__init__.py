"""Measures a model over many sentences: the jobs of heads, their importance, and whether methods agree."""
