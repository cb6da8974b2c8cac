"""Reads, writes, verifies and lists model folders, which contain translators or language models."""
