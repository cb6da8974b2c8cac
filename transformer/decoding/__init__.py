"""Decoding: ways to choose the next piece, each a generator of steps over a key/value cache."""

from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.sampling import MAX_TEMPERATURE, MIN_TEMPERATURE, sample
from transformer.decoding.step import Candidates, Distribution, Rows, Step, best, entropy, predict

__all__ = [
    "MAX_TEMPERATURE", "MIN_TEMPERATURE", "UNCONSTRAINED", "Candidates", "Constraints", "Distribution", "Rows", "Step",
    "best", "entropy", "greedy", "predict", "sample",
]
