"""Decoding: ways to choose the next piece, each a generator of steps over a key/value cache."""
