"""Lessons: files of steps whose numbers are measured on the loaded model. This package does not need torch."""
