"""Decoding: ways to choose the next piece, each a generator of steps over a key/value cache."""

from transformer.decoding.greedy import greedy
from transformer.decoding.step import Distribution, Rows, Step, best, entropy, predict

__all__ = ["Distribution", "Rows", "Step", "best", "entropy", "greedy", "predict"]
