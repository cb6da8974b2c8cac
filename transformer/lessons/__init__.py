"""Lessons: files of steps whose numbers the model measures on display. This package does not need torch."""
