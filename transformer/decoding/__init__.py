"""Decoding methods: greedy decoding, beam search and sampling. Each yields its steps and uses a key-value cache."""
