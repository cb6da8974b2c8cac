"""Decoding methods: greedy decoding, beam search and sampling. Each generates steps and uses a key-value cache."""
