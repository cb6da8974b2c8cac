"""Measurements over many sentences, recorded by a command or made on a page."""
