"""Reads, writes, seals and lists the model folders of translators and language models."""
