"""URL parameters of the "Switch heads off" page: the heads that are off, and how they are switched off."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Self

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
    """A sorted set of heads; layers and heads count from 0."""

    heads: tuple[Head, ...]

    def __str__(self) -> str:
        """Return the text of the heads in an address, which counts from 1: cross.1.8-encoder.3.1."""
        return SEPARATOR.join(map(head_name, self.heads)) or NONE

    @classmethod
    def parse(cls, text: str) -> HeadSet | None:
        """Parse the heads from their text in an address; return None if it is invalid."""
        names = [] if text == NONE else text.split(SEPARATOR)
        if not all(map(NAME.fullmatch, names)):
            return None
        return cls(tuple(sorted({parse_head(name) for name in names})))


@dataclass(frozen=True)
class OffParams(Params, prefix="off_"):
    """Settings of the page.

    Attributes:
        heads: the heads that are off.
        gate: the factor by which the heads' output is multiplied.
        mode: the replacement for the heads' output.
        draws, seed: the number of other sentences that the mode "resample" draws, and the seed of the draw.
        importance: whether the importance of every head is measured on this sentence.
        removal: whether heads are removed one after the other.
        kind: the kind of attention that is shown below the switches.
    """

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
        """The largest gate; in the mode that evens out weights it is 1, because weights cannot be more than even."""
        return 1.0 if self.mode == "uniform" else MAX_GATE

    def interventions(self, config: TransformerConfig) -> Interventions:
        """Return the interventions that switch the heads off in a model."""
        gates = dict.fromkeys(self.within(config), min(self.gate, self.most))
        return Interventions(gates=gates, mode=self.mode, seed=self.seed)

    @property
    def drawn(self) -> dict[str, Any]:
        """Seed and draws by name; empty if the mode does not use them."""
        return {"seed": self.seed, "draws": self.draws} if self.mode == "resample" else {}

    def for_another_sentence(self) -> Self:
        return replace(self, importance=False, removal=False)

    def for_another_translation(self) -> Self:
        return self.for_another_sentence()
