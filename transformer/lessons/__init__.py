"""Lessons: files of steps whose numbers are measured on the model when they are shown; needs no torch."""
