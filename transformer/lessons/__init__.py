"""Lessons: files of steps whose texts quote values measured on the loaded model."""
