"""URL parameters of the "Inside a layer" page, except layer, head and cell, which are in `AttentionParams`."""

from dataclasses import dataclass

from pages.ui.params.fields import Params, decimal, integer, matching, one_of
from pages.ui.params.pages import part_of
from transformer.values.trace import KINDS, Kind, Part, Stack
from transformer.values.trace import PARTS as SUBLAYERS


@dataclass(frozen=True)
class InsideParams(Params, prefix="inside_"):
    """Settings of the "Inside a layer" page.

    Attributes:
        part: the open part of the page.
        stage: the key of the stage shown in full; empty for the first one.
        kind: the kind of attention to which the explained cell belongs.
        score, other, width: the two scores and the key dimension K of the worked example.
        length: the number of tokens in the picture of the mask.
        stack, sublayer: the stack and the sub-layer whose layer norm and residual connection are shown.
    """

    part: str = part_of("inside_a_layer")
    stage: str = matching("[a-z_.]{0,60}")
    kind: Kind = one_of(KINDS)
    score: float = decimal(112.0, -1000.0, 1000.0)
    other: float = decimal(96.0, -1000.0, 1000.0)
    width: int = integer(64, 1, 4096)
    length: int = integer(6, 1, 32)
    stack: Stack = one_of(tuple(SUBLAYERS))
    sublayer: Part = one_of(SUBLAYERS["decoder"])
