"""Decoding: methods that choose the next token. Each is a generator of steps and uses a key/value cache."""
