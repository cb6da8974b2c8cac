"""URL parameters of the "Switch heads off" page: the chosen heads, and what replaces their output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pages.ui.params.fields import Params, decimal, flag, integer, one_of, parsed
from transformer.config import TransformerConfig
from transformer.values.interventions import (
    DEFAULT_DRAWS,
    MAX_GATE,
    MODES,
    Head,
    Interventions,
    Mode,
    all_heads,
    head_name,
    parse_head,
)
from transformer.values.kinds import KINDS, Kind

NONE = "none"
SEPARATOR = "-"
NAME = re.compile(rf"({'|'.join(KINDS)})\.[1-9][0-9]?\.[1-9][0-9]?")


@dataclass(frozen=True)
class HeadSet:
    """A sorted set of heads; layers and heads are 0-based."""

    heads: tuple[Head, ...]

    def __str__(self) -> str:
        """Serialise the heads for a URL, with 1-based numbers, as in cross.1.8-encoder.3.1."""
        return SEPARATOR.join(map(head_name, self.heads)) or NONE

    @classmethod
    def parse(cls, text: str) -> HeadSet | None:
        """Parse a set of heads from a URL; return None if the text is invalid."""
        names = [] if text == NONE else text.split(SEPARATOR)
        if not all(map(NAME.fullmatch, names)):
            return None
        return cls(tuple(sorted({parse_head(name) for name in names})))


@dataclass(frozen=True)
class OffParams(Params, prefix="off_"):
    """Settings of the "Switch heads off" page.

    Attributes:
        heads: the heads to switch off or scale.
        gate: the strength of these heads, from 0 (switched off) to MAX_GATE; 1 leaves them as trained.
        mode: what replaces the removed part of a head, one of MODES.
        draws: in the mode "resample", the number of other sentences to sample.
        seed: in the mode "resample", the random seed.
        importance: whether to measure the importance of every head for the sentence.
        removal: whether to remove heads one by one.
        kind: the kind of attention shown below the switches.
    """

    OF_TRANSLATION = ("importance", "removal")

    heads: HeadSet = parsed(HeadSet(()), HeadSet.parse)
    gate: float = decimal(0.0, 0.0, MAX_GATE)
    mode: Mode = one_of(MODES)
    draws: int = integer(DEFAULT_DRAWS, DEFAULT_DRAWS, 8 * DEFAULT_DRAWS)
    seed: int = integer(0, 0, 999_999)
    importance: bool = flag()
    removal: bool = flag()
    kind: Kind = one_of(KINDS, "cross")

    def within(self, config: TransformerConfig) -> tuple[Head, ...]:
        """Return the chosen heads that exist in a model."""
        there = set(all_heads(config))
        return tuple(head for head in self.heads.heads if head in there)

    @property
    def most(self) -> float:
        """The largest allowed gate: 1 in the mode "uniform", where a larger gate could make weights negative."""
        return 1.0 if self.mode == "uniform" else MAX_GATE

    def interventions(self, config: TransformerConfig) -> Interventions:
        """Return the interventions that switch off or scale the chosen heads of a model."""
        gates = dict.fromkeys(self.within(config), min(self.gate, self.most))
        return Interventions(gates=gates, mode=self.mode, seed=self.seed)

    @property
    def drawn(self) -> dict[str, Any]:
        """The seed and the number of draws, as keyword arguments; empty if the mode does not sample."""
        return {"seed": self.seed, "draws": self.draws} if self.mode == "resample" else {}
