"""Decoding settings: the method, its parameters and their limits."""

from __future__ import annotations

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
    """How the next token is chosen. Settings of the other methods have no effect.

    Attributes:
        method: "greedy" takes the most likely token; "beam" keeps the few best hypotheses at every step;
            "sample" draws at random.
        beam_size: number of hypotheses of the beam, 1 to MAX_BEAM_SIZE.
        length_penalty: exponent alpha of the beam's length penalty, 0 to MAX_LENGTH_PENALTY; 0 means no penalty.
        temperature: temperature of sampling, MIN_TEMPERATURE to MAX_TEMPERATURE; below 1 sharpens, above 1 flattens.
        top_k: sample from this many of the most likely tokens; 0 means all.
        top_p: sample from the most likely tokens that together have this probability, above 0, at most 1.
        seed: seed of the random draws.
    """

    method: Method = "greedy"
    beam_size: int = 4
    length_penalty: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


GREEDY = DecodingSettings()
