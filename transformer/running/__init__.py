"""Runs of the translation model: from one sentence to a translation or a trace."""
