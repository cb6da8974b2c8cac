"""A link to a head's attention map, for use in a paragraph."""

from dataclasses import dataclass

from transformer.values.trace import Kind


@dataclass(frozen=True)
class HeadLink:
    """A link to a head's attention map, for use in a paragraph; layer and head are 0-based."""

    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        return f"layer {self.layer + 1}, head {self.head + 1}"
