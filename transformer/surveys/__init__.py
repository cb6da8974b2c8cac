"""Studies over many sentences: what the heads do, how much they matter, whether methods agree."""
