"""Decoding: ways to choose the next piece, each a generator of steps over a key/value cache."""

from transformer.decoding.beam import ALPHA, MAX_ALPHA, MAX_SIZE, BeamStep, Fate, beam_search, length_penalty
from transformer.decoding.constraints import UNCONSTRAINED, Constraints
from transformer.decoding.greedy import greedy
from transformer.decoding.hypotheses import Hypothesis, hypotheses
from transformer.decoding.sampling import MAX_TEMPERATURE, MIN_TEMPERATURE, sample
from transformer.decoding.step import Candidates, Distribution, Rows, Step, best, entropy, predict
from transformer.decoding.tree import Node, Tree

__all__ = [
    "ALPHA", "MAX_ALPHA", "MAX_SIZE", "MAX_TEMPERATURE", "MIN_TEMPERATURE", "UNCONSTRAINED", "BeamStep", "Candidates",
    "Constraints", "Distribution", "Fate", "Hypothesis", "Node", "Rows", "Step", "Tree", "beam_search", "best",
    "entropy", "greedy", "hypotheses", "length_penalty", "predict", "sample",
]
