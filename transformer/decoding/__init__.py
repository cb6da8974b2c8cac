"""Decoding: ways to choose the next token, each a generator of steps over a key/value cache."""
