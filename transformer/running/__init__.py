"""Runs of the translation model: one sentence in, a translation or a trace out."""
