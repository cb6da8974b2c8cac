"""Decoding settings: the method, its parameters and their limits."""

from dataclasses import dataclass
from typing import Literal

from transformer.errors import SettingsError

Method = Literal["greedy", "beam", "sample"]
METHODS: tuple[Method, ...] = ("greedy", "beam", "sample")

MAX_BEAM_SIZE = 10
# Default exponent, from "Attention Is All You Need", section 6.1.
LENGTH_PENALTY = 0.6
MAX_LENGTH_PENALTY = 10.0
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class DecodingSettings:
    """Parameters for choosing each next token. The chosen method ignores the parameters of the other methods.

    Attributes:
        method: "greedy" takes the most likely token; "beam" keeps the best `beam_size` hypotheses at every step;
            "sample" samples from the distribution.
        beam_size: number of hypotheses in the beam, 1 to MAX_BEAM_SIZE.
        length_penalty: exponent alpha of the length penalty in beam search, 0 (no penalty) to MAX_LENGTH_PENALTY.
        temperature: sampling temperature, MIN_TEMPERATURE to MAX_TEMPERATURE. Values below 1 sharpen the distribution,
            values above 1 flatten it.
        top_k: number of most likely tokens to sample from; 0 means all.
        top_p: total probability for nucleus sampling, above 0 and at most 1. Tokens are sampled from the smallest set
            of most likely tokens that reaches this total.
        seed: random seed for sampling, 0 to MAX_SEED.

    Raises:
        SettingsError: there is no such method, or a parameter is out of range, even if the method does not use it.
    """

    method: Method = "greedy"
    beam_size: int = 4
    length_penalty: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"there is no method {self.method!r}: choose one of {', '.join(METHODS)}")
        for name, least, most in (
            ("beam_size", 1, MAX_BEAM_SIZE),
            ("length_penalty", 0, MAX_LENGTH_PENALTY),
            ("temperature", MIN_TEMPERATURE, MAX_TEMPERATURE),
            ("seed", 0, MAX_SEED),
        ):
            if not least <= getattr(self, name) <= most:
                raise SettingsError(f"{name} must be {least} to {most}, not {getattr(self, name)}")
        if self.top_k < 0:
            raise SettingsError(f"top_k must be at least 0, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"top_p must be above 0 and at most 1, not {self.top_p}")


GREEDY = DecodingSettings()
