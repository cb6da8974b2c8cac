"""Import and export of models and attention of other programs."""
