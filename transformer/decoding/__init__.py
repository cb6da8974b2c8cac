"""Decoding methods: greedy decoding, beam search and sampling, all generators of steps that use a key/value cache."""
