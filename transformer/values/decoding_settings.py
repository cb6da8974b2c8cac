"""Decoding settings: the method, its parameters and their limits."""

from dataclasses import dataclass
from typing import Literal

Method = Literal["greedy", "beam", "sample"]
METHODS: tuple[Method, ...] = ("greedy", "beam", "sample")

MAX_BEAM_SIZE = 10
# Default exponent, from "Attention Is All You Need", section 6.1.
LENGTH_PENALTY = 0.6
MAX_LENGTH_PENALTY = 10.0
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0


@dataclass(frozen=True)
class DecodingSettings:
    """Parameters for choosing each next token. Parameters of methods other than `method` have no effect.

    Attributes:
        method: "greedy" takes the most likely token; "beam" keeps the best `beam_size` hypotheses at every step;
            "sample" samples from the distribution.
        beam_size: number of hypotheses in the beam, 1 to MAX_BEAM_SIZE.
        length_penalty: exponent alpha of the length penalty in beam search, 0 (no penalty) to MAX_LENGTH_PENALTY.
        temperature: sampling temperature, MIN_TEMPERATURE to MAX_TEMPERATURE. Values below 1 sharpen the distribution,
            values above 1 flatten it.
        top_k: number of most likely tokens to sample from; 0 means all.
        top_p: probability mass for nucleus sampling: sample from the fewest most likely tokens with at least this total
            probability, above 0 and at most 1.
        seed: random seed for sampling.
    """

    method: Method = "greedy"
    beam_size: int = 4
    length_penalty: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


GREEDY = DecodingSettings()
