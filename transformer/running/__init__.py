"""The translation model and its runs, which turn a sentence into a translation or a trace."""
