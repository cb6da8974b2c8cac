"""Measurements over many sentences: what heads do, how important heads are, and whether methods agree."""
