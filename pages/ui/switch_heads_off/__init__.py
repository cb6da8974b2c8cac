"""Heads switched off, and what every head is worth."""
