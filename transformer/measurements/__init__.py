"""Measurements over many sentences: what heads do, how important heads are, and whether attribution methods agree."""
