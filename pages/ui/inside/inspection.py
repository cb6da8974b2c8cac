"""What a reader looks at inside a layer, as it stands in the address.

The layer, the head and the cell are the attention browser's (`pages.ui.choice`): the same on
all pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pages.ui.address import Addressed, decimal, matching, one_of, whole
from transformer.analysis.residual import PARTS as SUBLAYERS
from transformer.trace import KINDS

PARTS = (WAY, CELL, EXAMPLE, MASK, NORM, PARAMETERS) = ("way", "cell", "example", "mask", "norm", "parameters")


@dataclass(frozen=True)
class Inspection(Addressed):
    """What the page shows.

    Attributes:
        part: of the page, one of PARTS.
        stage: key of the stage shown large; empty for the first.
        kind: of attention whose cell is taken apart.
        score, other, width: the two scores and the K of the worked example.
        length: of the triangle.
        stack, sublayer: whose norm and residual connection are shown.
    """

    PREFIX: ClassVar[str] = "inside_"

    part: str = one_of(PARTS)
    stage: str = matching("[a-z_.]{0,60}")
    kind: str = one_of(KINDS)
    score: float = decimal(112.0, -1000.0, 1000.0)
    other: float = decimal(96.0, -1000.0, 1000.0)
    width: int = whole(64, 1, 4096)
    length: int = whole(6, 1, 32)
    stack: str = one_of(tuple(SUBLAYERS))
    sublayer: str = one_of(SUBLAYERS["decoder"])
