"""Lessons: each file divides a topic into steps, whose texts quote values measured on the loaded model."""
