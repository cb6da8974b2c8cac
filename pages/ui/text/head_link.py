"""A link to a head in a text. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.values.trace import Kind


@dataclass(frozen=True)
class HeadLink:
    """A link to a head in a text; layer and head count from 0."""

    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        return f"layer {self.layer + 1}, head {self.head + 1}"
