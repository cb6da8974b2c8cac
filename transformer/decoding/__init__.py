"""Decoding methods: greedy decoding, beam search and sampling. Each is a generator of steps with a key-value cache."""
