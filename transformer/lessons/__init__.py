"""Lessons: files of steps that state values measured on the loaded model. This package does not need torch."""
